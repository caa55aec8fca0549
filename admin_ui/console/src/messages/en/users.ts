import { countOf } from '../format.ts'

export const users = {
  title: 'People',
  search: 'Search by name or address',
  invite: 'Invite a person',
  emptyTitle: 'Nobody yet',
  emptyText: 'Invite a person, or let a domain sign in.',
  columns: { person: 'Person', status: 'Status', systemRole: 'System role', roles: 'Roles', created: 'Added' },
  systemRoles: { admin: 'Administrator', user: 'User' },
  statuses: { active: 'Active', suspended: 'Suspended' },
  roleCount: (count: number) => countOf(count, 'role', 'roles'),
}
