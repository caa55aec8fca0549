import { type ClientGuide, toJson } from './guide.ts'

const TOKEN = 'Bearer …'

export const copilot: ClientGuide = {
  id: 'copilot-cli',
  name: 'GitHub Copilot CLI',
  steps: (url) => [{ label: (texts) => texts.inSession('/mcp add', 'HTTP'), code: url }],
  withToken: (url) => [
    {
      label: (texts) => texts.file('~/.copilot/mcp-config.json'),
      code: toJson({ mcpServers: { mcpist: { type: 'http', url, tools: ['*'], headers: { Authorization: TOKEN } } } }),
    },
  ],
}
