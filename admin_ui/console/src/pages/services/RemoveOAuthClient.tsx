import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaOAuthClientView, SchemaRemovalView } from '../../api/schema.d.ts'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { RemainingAccounts } from '../../components/RemainingAccounts.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useMessages } from '../../messages/index.tsx'

interface RemoveOAuthClientProps {
  client: SchemaOAuthClientView
  /** Name of the provider. */
  title: string
  onClose: () => void
}

/** Removes a client with the accounts that were connected by it. */
export function RemoveOAuthClient({ client, title, onClose }: RemoveOAuthClientProps) {
  const { common, services } = useMessages()
  const { oauth } = services
  const queries = useQueryClient()
  const [removal, setRemoval] = useState<SchemaRemovalView | null>(null)
  const finish = async () => {
    onClose()
    await queries.invalidateQueries({ queryKey: ['oauth-clients'] })
  }
  const remove = async () => {
    const params = { path: { oauth_client_id: client.id } }
    const done = await read(api.DELETE('/api/v1/oauth-clients/{oauth_client_id}', { params }))
    showToast(oauth.removed)
    if (done.remaining_accounts.length > 0) setRemoval(done)
    else await finish()
  }
  if (removal) return <RemainingAccounts removal={removal} onClose={() => void finish()} />
  return (
    <ConfirmDestroy
      title={oauth.removeTitle(title, client.role_id ? oauth.ofRole(client.role) : oauth.everybody)}
      confirm={common.remove}
      typed={client.client_id}
      onConfirm={remove}
      onClose={onClose}
    >
      <p>{oauth.removeText(client.accounts)}</p>
    </ConfirmDestroy>
  )
}
