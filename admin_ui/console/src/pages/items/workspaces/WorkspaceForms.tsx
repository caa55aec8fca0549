import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Problem } from '../../../api/problems.ts'
import { useMe } from '../../../api/queries.ts'
import { ConfirmDestroy } from '../../../components/ConfirmDestroy.tsx'
import { Checkbox, Field, SelectField } from '../../../components/Field.tsx'
import { ModalForm } from '../../../components/ModalForm.tsx'
import { showToast } from '../../../components/toasts.tsx'
import { useMessages } from '../../../messages/index.tsx'
import { createWorkspace, deleteWorkspace, renameWorkspace, type Workspace } from '../queries.ts'
import { nameBare, nameWorkspace } from './names.ts'

const MAX_NAME = 100
type Owner = Workspace['owner']

function useRefresh() {
  const queries = useQueryClient()
  return () => queries.invalidateQueries({ queryKey: ['items'] })
}

interface CreateWorkspaceProps {
  known: readonly Workspace[]
  onClose: () => void
}

/** Makes a workspace: one's own, or as an administrator one that a role or everybody has. */
export function CreateWorkspace({ known, onClose }: CreateWorkspaceProps) {
  const { items } = useMessages()
  const { workspaces } = items
  const me = useMe()
  const refresh = useRefresh()
  const [owner, setOwner] = useState<Owner>('user')
  const owners: Owner[] = me.system_role === 'admin' ? ['user', ...(me.roles.length > 0 ? ['role' as const] : []), 'tenant'] : ['user']
  const create = async (data: FormData) => {
    const name = String(data.get('name') ?? '').trim()
    const role = owner === 'role' ? String(data.get('role') ?? '') : ''
    // The tool gives what there is already.
    if (known.some((one) => one.owner === owner && (one.role ?? '') === role && nameBare(items, one) === name))
      throw new Problem(422, { code: 'tool', errors: [{ field: 'name', problem: workspaces.exists }] })
    const made = await createWorkspace({ name, owner, role, member_writes: owner === 'user' || data.has('member_writes') })
    await refresh()
    showToast(workspaces.created(nameWorkspace(items, made)))
    onClose()
  }
  return (
    <ModalForm title={workspaces.create} submit={workspaces.create} onClose={onClose} onSubmit={create}>
      <Field name="name" label={workspaces.name} help={workspaces.nameHelp} isRequired maxLength={MAX_NAME} />
      {owners.length > 1 && (
        <SelectField
          name="owner"
          label={workspaces.owner}
          help={workspaces.ownerHelp}
          value={owner}
          choices={owners.map((value) => ({ value, label: workspaces.owners[value] }))}
          onChange={setOwner}
        />
      )}
      {owner === 'role' && (
        <SelectField
          name="role"
          label={workspaces.role}
          help={workspaces.roleHelp}
          defaultValue={me.roles[0]!}
          choices={me.roles.map((name) => ({ value: name, label: name }))}
        />
      )}
      {owner !== 'user' && (
        <Checkbox name="member_writes" defaultSelected>
          {workspaces.membersWrite}
        </Checkbox>
      )}
    </ModalForm>
  )
}

interface WorkspaceDialogProps {
  workspace: Workspace
  onClose: () => void
  /** What the dialog was about has this name now, or is gone. */
  onDone: (now?: string) => void
}

export function RenameWorkspace({ workspace, onClose, onDone }: WorkspaceDialogProps) {
  const { items } = useMessages()
  const { workspaces } = items
  const refresh = useRefresh()
  const rename = async (data: FormData) => {
    const renamed = await renameWorkspace(workspace.id, String(data.get('name') ?? '').trim())
    onDone(renamed.name)
    showToast(workspaces.renamed(nameWorkspace(items, renamed)))
    await refresh()
  }
  return (
    <ModalForm title={workspaces.renameTitle(nameWorkspace(items, workspace))} submit={workspaces.rename} onClose={onClose} onSubmit={rename}>
      <Field
        name="name"
        label={workspaces.name}
        help={workspaces.renameHelp}
        defaultValue={nameBare(items, workspace)}
        isRequired
        maxLength={MAX_NAME}
      />
    </ModalForm>
  )
}

export function DeleteWorkspace({ workspace, onClose, onDone }: WorkspaceDialogProps) {
  const { items } = useMessages()
  const { workspaces } = items
  const refresh = useRefresh()
  const name = nameWorkspace(items, workspace)
  const remove = async () => {
    await deleteWorkspace(workspace.id)
    onDone()
    showToast(items.removed(name))
    await refresh()
  }
  return (
    <ConfirmDestroy
      title={items.removeTitle(name)}
      confirm={items.remove}
      typed={nameBare(items, workspace)}
      onConfirm={remove}
      onClose={onClose}
    >
      <p>{workspaces.removeText(workspace.items)}</p>
      {workspace.owner !== 'user' && <p>{workspaces.removeShared}</p>}
    </ConfirmDestroy>
  )
}
