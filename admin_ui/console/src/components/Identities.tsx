import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, read } from '../api/client.ts'
import type { SchemaIdentityView } from '../api/schema.d.ts'
import { useMessages } from '../messages/index.tsx'
import { Button } from './Button.tsx'
import { ConfirmDestroy } from './ConfirmDestroy.tsx'
import { PagedItems } from './PagedItems.tsx'
import { Time } from './Time.tsx'
import { showToast } from './toasts.tsx'
import { usePagedList } from './usePagedList.ts'

/** The accounts at identity providers that somebody signs in with: one's own, or those of a user. */
export function Identities({ userId }: { userId?: string }) {
  const { identities } = useMessages()
  const queries = useQueryClient()
  const [asked, setAsked] = useState<SchemaIdentityView | null>(null)
  const list = usePagedList(['identities', userId ?? 'own'], (cursor) => {
    const query = { limit: 50, ...(userId && { user: userId }), ...(cursor && { cursor }) }
    return read(api.GET('/api/v1/identities', { params: { query } }))
  })
  const unlink = async (identity: SchemaIdentityView) => {
    await read(api.DELETE('/api/v1/identities/{identity_id}', { params: { path: { identity_id: identity.id } } }))
    await queries.invalidateQueries({ queryKey: ['identities'] })
    showToast(identities.unlinked(nameIdentity(identity)))
    setAsked(null)
  }
  return (
    <>
      <PagedItems
        label={identities.title}
        list={list}
        itemKey={(identity) => identity.id}
        title={nameIdentity}
        detail={(identity) => (
          <>
            {identity.issuer} · {identities.lastSignIn} <Time at={identity.last_sign_in_at} />
          </>
        )}
        end={(identity) => (
          <Button aria-label={identities.unlinkOf(nameIdentity(identity))} onPress={() => setAsked(identity)}>
            {identities.unlink}
          </Button>
        )}
        empty={identities.none}
      />
      {asked && (
        <ConfirmDestroy
          title={identities.unlinkTitle(nameIdentity(asked))}
          confirm={identities.unlink}
          typed={nameIdentity(asked)}
          onConfirm={() => unlink(asked)}
          onClose={() => setAsked(null)}
        >
          <p>{identities.unlinkText}</p>
        </ConfirmDestroy>
      )}
    </>
  )
}

function nameIdentity(identity: SchemaIdentityView): string {
  return identity.email || identity.subject
}
