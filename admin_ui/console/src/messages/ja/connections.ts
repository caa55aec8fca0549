import type { Messages } from '../index.tsx'

export const connections: Messages['connections'] = {
  states: {
    connected: '接続済み',
    needs_connect: '未接続',
    refreshing: '更新中',
    needs_reconnect: '切断',
    service_misconfigured: '設定の誤り',
    refused: '拒否',
    vendor_down: 'サービス停止中',
    disabled: '無効',
  },
  setup: { key: '準備完了', oauth: '準備完了', needs_client: '未設定', needs_site: '未設定', roles_only: '一部のロールのみ', off: '無効' },
  methods: {
    key: 'サービス側で作成したキーで接続します。',
    oauth: 'サービスにサインインして接続します。',
    needs_client: 'OAuth クライアントが必要です。入力欄の上の手順に従い、提供元で数分で登録できます。',
    needs_site: '「設定」でサイトのベース URL を入力するか、OAuth クライアントを登録します。',
    roles_only: '専用の OAuth クライアントがあるロールのユーザーだけが接続できます。',
    off: '全員に対して無効です。',
  },
  askAdministrator: '設定を管理者に依頼してください。',
  setUp: '設定',
  setUpService: (title) => `${title} を設定`,
}
