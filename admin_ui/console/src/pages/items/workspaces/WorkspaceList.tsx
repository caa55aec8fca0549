import { Link } from '@tanstack/react-router'
import { useMe } from '../../../api/queries.ts'
import { ActionMenu } from '../../../components/ActionMenu.tsx'
import { ItemList } from '../../../components/Facts.tsx'
import { useOverlay } from '../../../components/overlay.ts'
import { useOnline } from '../../../components/States.tsx'
import { useMessages } from '../../../messages/index.tsx'
import type { Workspace } from '../queries.ts'
import { itemsRoute } from '../route.ts'
import { isOwn, nameWorkspace } from './names.ts'
import { DeleteWorkspace, RenameWorkspace } from './WorkspaceForms.tsx'

const DIALOG = ['dialog', 'place'] as const
const CLOSED = { dialog: undefined, place: undefined }

/** The workspaces that the person may read, and what they may do with each. */
export function WorkspaceList({ workspaces: known }: { workspaces: readonly Workspace[] }) {
  const { items } = useMessages()
  const { workspaces } = items
  const { dialog, place, workspace } = itemsRoute.useSearch()
  const overlay = useOverlay(DIALOG)
  const chosen = known.find((one) => one.name === place)
  const close = { onClose: overlay.close, onDone: (now?: string) => overlay.replace({ ...CLOSED, ...(workspace === place && { workspace: now }) }) }
  return (
    <>
      <p>{workspaces.help}</p>
      <ItemList
        label={workspaces.title}
        items={known}
        itemKey={(one) => one.id}
        title={(one) => (
          <Link to="/items" search={isOwn(one) ? {} : { workspace: one.name }} dir="auto">
            {nameWorkspace(items, one)}
          </Link>
        )}
        detail={(one) => [workspaces.owners[one.owner], workspaces.count(one.items), !one.can_write && workspaces.readOnly].filter(Boolean).join(' · ')}
        end={(one) => <WorkspaceActions workspace={one} onOpen={(name) => overlay.open({ dialog: name, place: one.name })} />}
        empty={workspaces.none}
      />
      {chosen && dialog === 'edit' && <RenameWorkspace workspace={chosen} {...close} />}
      {chosen && dialog === 'remove' && <DeleteWorkspace workspace={chosen} {...close} />}
    </>
  )
}

interface WorkspaceActionsProps {
  workspace: Workspace
  onOpen: (dialog: 'edit' | 'remove') => void
}

/** Shared ones are the administrators'; one's own first one keeps its name. */
function WorkspaceActions({ workspace, onOpen }: WorkspaceActionsProps) {
  const { items } = useMessages()
  const { workspaces } = items
  const online = useOnline()
  const isAdministrator = useMe().system_role === 'admin'
  if (workspace.owner !== 'user' && !isAdministrator) return null
  return (
    <ActionMenu
      label={workspaces.actionsOf(nameWorkspace(items, workspace))}
      actions={[
        ...(isOwn(workspace) ? [] : [{ id: 'edit', label: workspaces.rename, disabled: !online, run: () => onOpen('edit') }]),
        { id: 'remove', label: items.remove, danger: true, disabled: !online, run: () => onOpen('remove') },
      ]}
    />
  )
}
