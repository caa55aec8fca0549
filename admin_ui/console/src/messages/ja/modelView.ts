import type { Messages } from '../index.tsx'

export const modelView: Messages['modelView'] = {
  tab: 'モデルの見え方',
  help: 'モデルに見えるものを、そのまま過不足なく表示します。ここにないものはモデルには存在しません。トークン数は推定値です。',
  tools: 'ツール',
  atStart: '開始時',
  allSchemas: 'すべてのスキーマを読む場合',
  tokens: (count) => `${count} トークン`,
  modules: 'サービスごとのツール',
  nothing: 'ツールはありません。権限は、有効なサービスにのみ適用されます。',
  resources: 'リソース',
  resourcesHelp: 'クライアントが利用者に示し、利用者がチャットに添付します。',
  prompts: 'プロンプト',
  promptsHelp: 'クライアントが利用者に示し、利用者が選びます。',
  definitions: 'クライアントが読み込む定義',
  definitionsHelp: 'この 3 つは常に同じで、各ツールはこれらを通じて使われます。',
  instructions: 'モデルへの説明',
}
