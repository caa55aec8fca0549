export const toolExposure = {
  label: 'How tools are shown',
  form: '“meta” for three tools that lead to all others, “plain” for the tools themselves, or “both”; with names of services and tools after a colon for these alone, such as plain:github,notion.',
  ofCredential: 'Empty: the roles decide. The URL of a client is before this.',
  ofRole: 'Empty: meta. What the roles of a person show adds up; a setting of their client, and its URL, are before this.',
  wrong: 'Write meta, plain, both, or names after a colon: plain:github,notion',
  shows: (exposure: string) => `shows tools as ${exposure}`,
  byRole: 'Decided by roles',
}
