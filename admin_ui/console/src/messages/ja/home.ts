import type { Messages } from '../index.tsx'

export const home: Messages['home'] = {
  title: 'スタート',
  roles: '自分のロール',
  noRoles: 'ロールはまだありません。管理者が割り当てると、ツールを使えるようになります。',
  services: '自分のサービス',
  noServices: 'ツールを使えるロールがないため、サービスはまだありません。',
  usable: (count) => `利用可能 ${count} 件`,
  needsConnect: (count) => `未接続 ${count} 件`,
  notSetUp: (count) => `未設定 ${count} 件`,
  broken: (count) => `切断 ${count} 件`,
  allTools: 'すべてのツール',
}
