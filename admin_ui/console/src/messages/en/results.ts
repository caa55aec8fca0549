export const results = {
  tokens: 'Largest result in tokens',
  tokensHelp: (least: string, most: string, usual: string) =>
    `${least} to ${most}. What a result has beyond is kept, and the model reads it in parts. Empty: what is known of the client, else ${usual}.`,
  tokensWrong: (least: string, most: string) => `Enter ${least} to ${most}, or nothing.`,
  upTo: (tokens: string) => `results up to ${tokens} tokens`,
  decided: 'Decided by the client',
}
