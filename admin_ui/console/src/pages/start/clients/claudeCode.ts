import { type ClientGuide, quoteShell } from './guide.ts'

export const claudeCode: ClientGuide = {
  id: 'claude-code',
  name: 'Claude Code',
  steps: (url) => [
    { label: (texts) => texts.run, code: `claude mcp add --transport http mcpist ${quoteShell(url)}` },
    { label: (texts) => texts.inSession('/mcp', 'Authenticate') },
  ],
  withToken: (url) => [
    {
      label: (texts) => texts.run,
      code: `claude mcp add --transport http mcpist ${quoteShell(url)} --header "Authorization: Bearer $TOKEN"`,
    },
  ],
  redirectUris: ['http://localhost/callback'],
}
