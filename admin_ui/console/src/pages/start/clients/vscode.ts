import { type ClientGuide, toJson } from './guide.ts'

export const vscode: ClientGuide = {
  id: 'vscode',
  name: 'VS Code',
  steps: (url) => [
    { label: (texts) => texts.file('.vscode/mcp.json'), code: toJson({ servers: { mcpist: { type: 'http', url } } }) },
  ],
  redirectUris: ['http://127.0.0.1:33418', 'https://vscode.dev/redirect'],
}
