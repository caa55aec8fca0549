import { useQueryClient } from '@tanstack/react-query'
import { KeyRound } from 'lucide-react'
import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaTokenView } from '../../api/schema.d.ts'
import { useShortcut } from '../../app/shortcuts.tsx'
import { Button } from '../../components/Button.tsx'
import { listTokenOrders, type TokenOrder } from '../../components/tokenOrders.ts'
import { Card } from '../../components/Card.tsx'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { ItemTools } from '../../components/ItemTools.tsx'
import { PagedItems } from '../../components/PagedItems.tsx'
import { StatusBadge } from '../../components/StatusBadge.tsx'
import { Time } from '../../components/Time.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useItemSearch } from '../../components/useItemSearch.ts'
import { usePagedList } from '../../components/usePagedList.ts'
import { useFormat, useMessages } from '../../messages/index.tsx'
import { profileRoute } from './route.ts'
import { TokenForm } from './TokenForm.tsx'

const OVERLAYS = ['dialog'] as const
const PAGE = 50

/** The person's API tokens that are not revoked. */
export function Tokens() {
  const { common, profile } = useMessages()
  const queries = useQueryClient()
  const { dialog } = profileRoute.useSearch()
  const { open, close } = useOverlay(OVERLAYS)
  const [asked, setAsked] = useState<SchemaTokenView | null>(null)
  const search = useItemSearch<TokenOrder>('-created_at')
  const list = usePagedList(['tokens', 'own', 'list', search.query], (cursor) =>
    read(api.GET('/api/v1/tokens', { params: { query: { ...search.query, limit: PAGE, revoked: false, ...(cursor && { cursor }) } } })),
  )
  const create = () => open({ dialog: 'token' })
  useShortcut('n', profile.createToken, create)
  const revoke = async (token: SchemaTokenView) => {
    await read(api.DELETE('/api/v1/tokens/{token_id}', { params: { path: { token_id: token.id } } }))
    await queries.invalidateQueries({ queryKey: ['tokens'] })
    showToast(profile.revoked(token.name))
    setAsked(null)
  }
  const action = (
    <Button icon={KeyRound} onPress={create}>
      {profile.createToken}
    </Button>
  )
  return (
    <Card title={profile.tokens} help={profile.tokensHelp} action={action}>
      <ItemTools
        label={profile.searchTokens}
        search={search}
        list={list}
        orders={listTokenOrders(common)}
      />
      <PagedItems
        label={profile.tokens}
        list={list}
        itemKey={(token) => token.id}
        title={(token) => token.name}
        detail={(token) => <TokenDetail token={token} />}
        end={(token) => <Button onPress={() => setAsked(token)}>{profile.revoke}</Button>}
        empty={search.words ? common.nothingMatches(search.words) : profile.noTokens}
      />
      {dialog === 'token' && <TokenForm onClose={close} />}
      {asked && (
        <ConfirmDestroy
          title={profile.revokeTitle(asked.name)}
          confirm={profile.revoke}
          typed={asked.name}
          onConfirm={() => revoke(asked)}
          onClose={() => setAsked(null)}
        >
          <p>{profile.revokeToken}</p>
        </ConfirmDestroy>
      )}
    </Card>
  )
}

function TokenDetail({ token }: { token: SchemaTokenView }) {
  const { profile, results, toolExposure } = useMessages()
  const format = useFormat()
  const [opened] = useState(() => Date.now())
  const isOver = token.expires_at !== null && new Date(token.expires_at).getTime() < opened
  return (
    <>
      {isOver && <StatusBadge tone="none" text={profile.expired} />} {token.scopes.join(' ')}
      {token.read_only && ` · ${profile.readOnly}`}
      {token.result_tokens !== null && ` · ${results.upTo(format.number(token.result_tokens))}`}
      {token.tool_exposure !== null && ` · ${toolExposure.shows(token.tool_exposure)}`} ·{' '}
      {token.last_used_at ? (
        <>
          {profile.lastUsed} <Time at={token.last_used_at} />
        </>
      ) : (
        profile.neverUsed
      )}
      {token.expires_at && (
        <>
          {' '}
          · {profile.ends} <Time at={token.expires_at} />
        </>
      )}
    </>
  )
}
