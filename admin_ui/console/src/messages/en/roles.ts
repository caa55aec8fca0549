export const roles = {
  title: 'Roles',
  search: 'Search by name',
  add: 'Add role',
  emptyTitle: 'No roles yet',
  emptyText: 'A role says which tools its people may use.',
  columns: { name: 'Name', priority: 'Priority', members: 'People', permissions: 'Permissions' },
}
