import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaDisconnectionView, SchemaVendorCredentialView } from '../../api/schema.d.ts'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { useLocalized } from '../../components/Localized.tsx'
import { ModalForm } from '../../components/ModalForm.tsx'
import { ProblemNotice, Skeleton } from '../../components/States.tsx'
import { StillOpen } from '../../components/StillOpen.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useFormat, useMessages } from '../../messages/index.tsx'
import { moduleQuery, ownCredentialsQuery } from './queries.ts'

interface DisconnectDialogProps {
  module: string
  onClose: () => void
}

/** Ends an account: says beforehand which modules lose it, and afterwards whether the vendor knows. */
export function DisconnectDialog({ module, onClose }: DisconnectDialogProps) {
  const { tools } = useMessages()
  const localized = useLocalized()
  const queries = useQueryClient()
  const described = useQuery(moduleQuery(module))
  const credentials = useQuery(ownCredentialsQuery)
  const [left, setLeft] = useState<SchemaDisconnectionView | null>(null)
  const title = described.data ? localized(described.data.title) : module
  const credential = credentials.data?.find((one) => one.module === module && one.kind === 'personal')
  if (left) return <StillOpen title={title} left={left} onClose={onClose} />
  const disconnect = async () => {
    const params = { path: { credential_id: credential!.id } }
    const ended = await read(api.DELETE('/api/v1/credentials/{credential_id}', { params }))
    await Promise.all(
      ['tool-modules', 'credentials', 'connections'].map((name) => queries.invalidateQueries({ queryKey: [name] })),
    )
    if (!ended.revoked) {
      setLeft(ended)
      return
    }
    showToast(tools.disconnected(title))
    onClose()
  }
  if (!credential) {
    return (
      <ModalForm
        title={tools.disconnectTitle(title, '')}
        submit={tools.disconnect}
        onClose={onClose}
        onSubmit={async () => {}}
        result={
          credentials.error ? (
            <ProblemNotice error={credentials.error} onRetry={() => void credentials.refetch()} />
          ) : credentials.data ? (
            <p>{tools.nothingToDisconnect}</p>
          ) : (
            <Skeleton lines={2} />
          )
        }
      >
        {null}
      </ModalForm>
    )
  }
  return (
    <ConfirmDestroy
      title={tools.disconnectTitle(title, credential.account)}
      confirm={tools.disconnect}
      typed={credential.account || title}
      onConfirm={disconnect}
      onClose={onClose}
    >
      <WhatEnds credential={credential} all={credentials.data!} toolCount={described.data?.tool_count ?? 0} />
    </ConfirmDestroy>
  )
}

interface WhatEndsProps {
  credential: SchemaVendorCredentialView
  all: readonly SchemaVendorCredentialView[]
  toolCount: number
}

function WhatEnds({ credential, all, toolCount }: WhatEndsProps) {
  const { tools } = useMessages()
  const format = useFormat()
  const others = all.filter((one) => one.id !== credential.id && isSameAccount(one, credential)).map((one) => one.module)
  return (
    <>
      <p>{tools.disconnectEnds(toolCount)}</p>
      {others.length > 0 && <p>{tools.disconnectOthers(format.list(others))}</p>}
      <p>{credential.type === 'oauth' ? tools.disconnectRevokes : tools.disconnectKey}</p>
    </>
  )
}

/** Modules that use one account lose it together. */
function isSameAccount(one: SchemaVendorCredentialView, other: SchemaVendorCredentialView): boolean {
  return (
    one.kind === 'personal' && other.provider !== '' && one.provider === other.provider && one.account === other.account
  )
}
