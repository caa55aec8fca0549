import { type ClientGuide, toJson } from './guide.ts'

export const gemini: ClientGuide = {
  id: 'gemini-cli',
  name: 'Gemini CLI',
  steps: (url) => [
    {
      label: (texts) => texts.file('~/.gemini/settings.json'),
      code: toJson({ mcpServers: { mcpist: { httpUrl: url } } }),
    },
    { label: (texts) => texts.typed, code: '/mcp auth mcpist' },
  ],
}
