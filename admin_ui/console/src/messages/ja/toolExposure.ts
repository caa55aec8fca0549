import type { Messages } from '../index.tsx'

export const toolExposure: Messages['toolExposure'] = {
  label: 'ツールの見せ方',
  views: {
    none: 'ロールに従う',
    meta: 'すべてを検索して呼び出せる 3 つのツール',
    plain: 'ツールを 1 つずつ（プレーン表示）',
    both: '両方: 3 つのツールと個々のツール',
  },
  ofCredential: 'クライアントの URL の指定（/mcp?view=plain など）が優先されます。',
  ofRole: '複数のロールの指定は合わせて適用されます。トークンやクライアントの設定とその URL の指定が優先されます。',
  names: '見せるサービスとツール',
  namesHelp: '名前をカンマで区切ります。サービスは github、1 つのツールは jira.search_issues のように書きます。空欄の場合は許可されているものすべてです。',
  wrong: '名前をカンマで区切って入力してください（例: github, jira.search_issues）',
  shows: (exposure) => `ツールの見せ方 ${exposure}`,
  byRole: 'ロールに従う',
}
