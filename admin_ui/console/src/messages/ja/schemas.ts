import type { Messages } from '../index.tsx'

export const schemas: Messages['schemas'] = {
  noParameters: 'なし',
  required: '必須',
  defaultValue: (value) => `既定値：${value}`,
}
