import type { Messages } from '../../../messages/index.tsx'
import type { Workspace } from '../queries.ts'

/** The person's own, where it is not named. */
const OWN = 'default'

export const isOwn = ({ owner, name }: Workspace) => owner === 'user' && name === OWN

/** Its name alone, without its owner; of one's own first one, what it is called for people. */
export function nameBare(items: Messages['items'], workspace: Workspace): string {
  return isOwn(workspace) ? items.own : workspace.name.slice(workspace.name.lastIndexOf('/') + 1)
}

/** Its name with its owner. */
export function nameWorkspace(items: Messages['items'], workspace: Workspace): string {
  const bare = nameBare(items, workspace)
  if (workspace.owner === 'role') return items.ofRole(bare, workspace.role ?? '')
  return workspace.owner === 'tenant' ? items.ofTenant(bare) : bare
}
