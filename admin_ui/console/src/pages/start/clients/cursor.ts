import { type ClientGuide, toJson } from './guide.ts'

export const cursor: ClientGuide = {
  id: 'cursor',
  name: 'Cursor',
  steps: (url) => [{ label: (texts) => texts.file('~/.cursor/mcp.json'), code: toJson({ mcpServers: { mcpist: { url } } }) }],
  redirectUris: ['cursor://anysphere.cursor-mcp/oauth/callback'],
}
