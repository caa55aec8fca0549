import { type ClientGuide, toJson } from './guide.ts'

export const claudeDesktop: ClientGuide = {
  id: 'claude-desktop',
  name: 'Claude Desktop, claude.ai',
  steps: (url) => [{ label: (texts) => texts.menu('Settings → Connectors → Add custom connector'), code: url }],
  withToken: (url) => [
    {
      label: (texts) => texts.file('claude_desktop_config.json'),
      code: toJson({ mcpServers: { mcpist: { url, transport: 'streamable-http' } } }),
    },
  ],
  redirectUris: ['https://claude.ai/api/mcp/auth_callback'],
  needsInternet: true,
}
