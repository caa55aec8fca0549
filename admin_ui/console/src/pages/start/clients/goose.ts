import { type ClientGuide, quoteText } from './guide.ts'

/** A plain YAML scalar where the text may stand as one. */
function toYaml(text: string): string {
  return /^https?:\/\/[\w.:/-]+$/.test(text) ? text : quoteText(text)
}

export const goose: ClientGuide = {
  id: 'goose',
  name: 'Goose',
  steps: () => [],
  withToken: (url) => [
    {
      label: (texts) => texts.file('~/.config/goose/config.yaml'),
      code: [
        'extensions:',
        '  mcpist:',
        '    name: mcpist',
        '    type: streamable_http',
        `    uri: ${toYaml(url)}`,
        '    headers: {Authorization: Bearer …}',
        '    enabled: true',
        '    timeout: 300',
      ].join('\n'),
    },
  ],
}
