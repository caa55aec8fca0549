import type { Messages } from '../index.tsx'

export const roles: Messages['roles'] = {
  title: 'ロール',
  search: '名前で検索',
  add: 'ロールを追加',
  emptyTitle: 'ロールはまだありません',
  emptyText: 'ロールは、所属する人が使えるツールを決めます。',
  columns: { name: '名前', priority: '優先順位', members: '人数', permissions: '権限' },
}
