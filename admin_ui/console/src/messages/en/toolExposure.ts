export const toolExposure = {
  label: 'How tools are shown',
  views: {
    none: 'As the roles decide',
    meta: 'Three tools that find and call all others',
    plain: 'Each tool by itself (plain view)',
    both: 'Both: the three, and tools by themselves',
  },
  ofCredential: 'The URL of a client, such as /mcp?view=plain, goes before this.',
  ofRole: 'What several roles of a person show adds up. A setting of their token or client, and its URL, go before this.',
  names: 'Only these services and tools',
  namesHelp: 'Names with commas between them: github for a service, jira.search_issues for one tool. Empty: all that are permitted.',
  wrong: 'Write names with commas between them, such as github, jira.search_issues',
  shows: (exposure: string) => `shows tools as ${exposure}`,
  byRole: 'As the roles decide',
}
