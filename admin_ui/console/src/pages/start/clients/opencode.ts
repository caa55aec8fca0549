import { type ClientGuide, toJson } from './guide.ts'

export const opencode: ClientGuide = {
  id: 'opencode',
  name: 'OpenCode',
  steps: (url) => [
    { label: (texts) => texts.file('opencode.json'), code: toJson({ mcp: { mcpist: { type: 'remote', url } } }) },
    { label: (texts) => texts.run, code: 'opencode mcp auth mcpist' },
  ],
  redirectUris: ['http://127.0.0.1:19876/mcp/oauth/callback'],
}
