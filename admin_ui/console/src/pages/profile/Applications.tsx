import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaGrantView } from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import { Card } from '../../components/Card.tsx'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { ItemTools } from '../../components/ItemTools.tsx'
import { PagedItems } from '../../components/PagedItems.tsx'
import { Time } from '../../components/Time.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useItemSearch } from '../../components/useItemSearch.ts'
import { usePagedList } from '../../components/usePagedList.ts'
import { useMessages } from '../../messages/index.tsx'

type GrantOrder = 'created_at' | '-created_at' | '-last_used_at'

const PAGE = 50

/** The applications that the person has let in. */
export function Applications() {
  const { common, profile } = useMessages()
  const queries = useQueryClient()
  const [asked, setAsked] = useState<SchemaGrantView | null>(null)
  const search = useItemSearch<GrantOrder>('-created_at')
  const list = usePagedList(['grants', 'own', 'list', search.query], (cursor) =>
    read(api.GET('/api/v1/oauth/grants', { params: { query: { ...search.query, limit: PAGE, ...(cursor && { cursor }) } } })),
  )
  const revoke = async (grant: SchemaGrantView) => {
    await read(api.DELETE('/api/v1/oauth/grants/{grant_id}', { params: { path: { grant_id: grant.id } } }))
    await queries.invalidateQueries({ queryKey: ['grants'] })
    showToast(profile.revoked(nameGrant(grant)))
    setAsked(null)
  }
  return (
    <Card title={profile.applications} help={profile.applicationsHelp}>
      <ItemTools
        label={profile.searchApplications}
        search={search}
        list={list}
        orders={[
          ['-created_at', common.orders.newest],
          ['created_at', common.orders.oldest],
          ['-last_used_at', common.orders.lastUsed],
        ]}
      />
      <PagedItems
        label={profile.applications}
        list={list}
        itemKey={(grant) => grant.id}
        title={nameGrant}
        detail={(grant) => (
          <>
            {grant.scopes.join(' ')} · {profile.lastUsed} <Time at={grant.last_used_at} /> · {profile.ends}{' '}
            <Time at={grant.expires_at} />
          </>
        )}
        end={(grant) => <Button onPress={() => setAsked(grant)}>{profile.revoke}</Button>}
        empty={search.words ? common.nothingMatches(search.words) : profile.noApplications}
      />
      {asked && (
        <ConfirmDestroy
          title={profile.revokeTitle(nameGrant(asked))}
          confirm={profile.revoke}
          typed={nameGrant(asked)}
          onConfirm={() => revoke(asked)}
          onClose={() => setAsked(null)}
        >
          <p>{profile.revokeApplication}</p>
        </ConfirmDestroy>
      )}
    </Card>
  )
}

function nameGrant(grant: SchemaGrantView): string {
  return grant.client_name || grant.client_id
}
