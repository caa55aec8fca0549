import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaRemovalView, SchemaRoleView } from '../../api/schema.d.ts'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { RemainingAccounts } from '../../components/RemainingAccounts.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useMessages } from '../../messages/index.tsx'

interface RemoveRoleProps {
  role: SchemaRoleView
  onClose: () => void
  onRemoved: () => void
}

/** Removes a role with its permissions, assignments and shared accounts. */
export function RemoveRole({ role, onClose, onRemoved }: RemoveRoleProps) {
  const { roles } = useMessages()
  const queries = useQueryClient()
  const [removal, setRemoval] = useState<SchemaRemovalView | null>(null)
  const finish = async () => {
    onRemoved()
    queries.removeQueries({ queryKey: ['roles', role.id] })
    await Promise.all([queries.invalidateQueries({ queryKey: ['roles', 'list'] }), queries.invalidateQueries({ queryKey: ['users'] })])
  }
  const remove = async () => {
    const done = await read(api.DELETE('/api/v1/roles/{role_id}', { params: { path: { role_id: role.id } } }))
    showToast(roles.removed(role.name))
    if (done.remaining_accounts.length > 0) setRemoval(done)
    else await finish()
  }
  if (removal) return <RemainingAccounts removal={removal} onClose={() => void finish()} />
  return (
    <ConfirmDestroy
      title={roles.removeTitle(role.name)}
      confirm={roles.remove}
      typed={role.name}
      onConfirm={remove}
      onClose={onClose}
    >
      <p>{roles.removeText(role.members)}</p>
    </ConfirmDestroy>
  )
}
