import type { Messages } from '../index.tsx'

export const users: Messages['users'] = {
  title: 'ユーザー',
  search: '名前・アドレスで検索',
  invite: 'ユーザーを招待',
  emptyTitle: 'ユーザーはまだいません',
  emptyText: 'ユーザーを招待するか、ドメインのサインインを許可します。',
  columns: { person: 'ユーザー', status: '状態', systemRole: 'システムロール', roles: 'ロール', created: '追加日' },
  systemRoles: { admin: '管理者', user: 'ユーザー' },
  statuses: { active: '有効', suspended: '停止中' },
  roleCount: (count) => `${count} ロール`,
}
