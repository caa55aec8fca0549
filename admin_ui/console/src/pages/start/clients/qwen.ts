import { type ClientGuide, quoteShell } from './guide.ts'

export const qwen: ClientGuide = {
  id: 'qwen-code',
  name: 'Qwen Code',
  steps: () => [],
  withToken: (url) => [
    {
      label: (texts) => texts.run,
      code: `qwen mcp add --scope user --transport http mcpist ${quoteShell(url)} --header "Authorization: Bearer $TOKEN"`,
    },
  ],
}
