import type { ClientGuide } from './guide.ts'

export const chatgpt: ClientGuide = {
  id: 'chatgpt',
  name: 'ChatGPT',
  steps: (url) => [
    { label: (texts) => texts.menu('Settings → Apps & Connectors → Advanced → Developer mode') },
    { label: (texts) => texts.menu('Create'), code: url },
  ],
  needsInternet: true,
}
