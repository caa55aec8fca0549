import { type ClientGuide, quoteShell } from './guide.ts'

export const mcpRemote: ClientGuide = {
  id: 'mcp-remote',
  name: 'mcp-remote',
  steps: () => [],
  withToken: (url) => [
    { label: (texts) => texts.run, code: `npx mcp-remote ${quoteShell(url)} --header "Authorization: Bearer $TOKEN"` },
  ],
  redirectUris: ['http://localhost/oauth/callback'],
}
