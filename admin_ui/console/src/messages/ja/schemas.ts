import type { Messages } from '../index.tsx'

export const schemas: Messages['schemas'] = {
  noParameters: 'なし',
  required: '必須',
  requiredValue: '必須です。',
  unknown: 'このパラメーターはありません。',
  defaultValue: (value) => `既定値：${value}`,
  unset: '未設定',
  add: '追加',
  addTo: (name) => `追加：${name}`,
  remove: '削除',
  removeItem: (name) => `削除：${name}`,
  notJson: 'JSON として正しくありません。',
}
