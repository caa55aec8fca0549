import { formatNumber } from '../format.ts'
import type { Messages } from '../index.tsx'

export const modelView: Messages['modelView'] = {
  tab: 'モデルの見え方',
  help: 'モデルに見えるものを、そのまま過不足なく表示します。ここにないものはモデルには存在しません。トークン数は推定値です。',
  tools: 'ツール',
  atStart: '開始時',
  allSchemas: 'すべてのスキーマを読む場合',
  tokens: (count) => `${formatNumber('ja', count)} トークン`,
  modules: 'サービスごとのツール',
  nothing: 'ツールはありません。権限は、有効なサービスにのみ適用されます。',
  plain: 'プレーン表示のツール',
  plainOnRequest: 'URL、トークン、またはクライアントの設定でプレーン表示を指定したクライアントにだけ見えます（ロールでは 3 つのツールを見せます）。長い結果とジョブのためのツールも加わります。',
  plainBy: (exposure) => `ロールによるツールの見せ方: ${exposure}。3 つのツールを見せない場合は、長い結果とジョブのためのツールも加わります。`,
  plainCount: (count) => `${count} 個のツール`,
  noPlain: 'ありません。「ツールの見せ方」の名前と、許可されているツールを確認してください。',
  resources: 'リソース',
  resourcesHelp: 'クライアントが利用者に示し、利用者がチャットに添付します。',
  prompts: 'プロンプト',
  promptsHelp: 'クライアントが利用者に示し、利用者が選びます。',
  definitions: 'クライアントが読み込む定義',
  definitionsHelp: 'この 3 つは常に同じで、各ツールはこれらを通じて使われます。',
  instructions: 'モデルへの説明',
}
