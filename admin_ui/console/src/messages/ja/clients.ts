import type { Messages } from '../index.tsx'

export const clients: Messages['clients'] = {
  title: 'クライアントを接続',
  help: 'どのクライアントにも同じ URL を設定します。初回にブラウザーが開くので、アクセスを許可します。',
  url: 'クライアント用の URL',
  client: 'クライアント',
  needsInternet: '提供元のサーバーから呼び出されるため、MCPist にインターネットから到達できる必要があります。',
  withToken: 'API トークンを使う',
  tokenHelp: 'ブラウザーでサインインできないクライアント用です。',
  createToken: 'トークンを作成',
  redirectUri: 'リダイレクト URI',
  redirectHelp: '管理者がこのクライアントを手動で登録する場合にのみ使います。',
  steps: {
    run: 'ターミナルで実行',
    file: (file) => `${file} に記述`,
    menu: (path) => `クライアントの画面で：${path}`,
    inSession: (command, choice) => `セッション内で ${command}、続けて ${choice}`,
    typed: 'セッション内で入力',
  },
  worked: '接続の確認',
  waiting: '最初のツール呼び出しを待っています',
  firstCall: '接続できました。最初の呼び出し：',
  lastCall: '以前の呼び出し：',
}
