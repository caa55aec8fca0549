import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import { Button } from '../../components/Button.tsx'
import { listTokenOrders, type TokenOrder } from '../../components/tokenOrders.ts'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { Actions, Section } from '../../components/Facts.tsx'
import { Identities } from '../../components/Identities.tsx'
import { ItemTools } from '../../components/ItemTools.tsx'
import { MandateDetail, useMandateName } from '../../components/MandateDetail.tsx'
import { PagedItems } from '../../components/PagedItems.tsx'
import { Time } from '../../components/Time.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useItemSearch } from '../../components/useItemSearch.ts'
import { usePagedList } from '../../components/usePagedList.ts'
import { useFormat, useMessages } from '../../messages/index.tsx'
import { SHOWN } from './queries.ts'

interface Question {
  name: string
  /** What the revocation ends, where that is no program's credential. */
  text?: string
  revoke: () => Promise<unknown>
}

/** With what a person reaches MCPist: browsers, API tokens, applications, work in absence, accounts to sign in with; each
 * can be ended. */
export function UserAccess({ userId }: { userId: string }) {
  const { identities, users } = useMessages()
  const queries = useQueryClient()
  const [question, setQuestion] = useState<Question | null>(null)
  const revoke = async () => {
    await question!.revoke()
    await queries.invalidateQueries({ queryKey: ['users', userId] })
    showToast(users.revoked(question!.name))
    setQuestion(null)
  }
  return (
    <>
      <Sessions userId={userId} />
      <Tokens userId={userId} onRevoke={setQuestion} />
      <Grants userId={userId} onRevoke={setQuestion} />
      <AbsentWork userId={userId} onRevoke={setQuestion} />
      <Section title={identities.title}>
        <Identities userId={userId} />
      </Section>
      {question && (
        <ConfirmDestroy
          title={users.revokeTitle(question.name)}
          confirm={users.revoke}
          typed={question.name}
          onConfirm={revoke}
          onClose={() => setQuestion(null)}
        >
          <p>{question.text ?? users.revokeText}</p>
        </ConfirmDestroy>
      )}
    </>
  )
}

interface PartProps {
  userId: string
  onRevoke: (question: Question) => void
}

function Sessions({ userId }: { userId: string }) {
  const { profile, users } = useMessages()
  const queries = useQueryClient()
  const list = usePagedList(['users', userId, 'sessions', 'list'], (cursor) =>
    read(api.GET('/api/v1/sessions', { params: { query: pageOf(userId, cursor) } })),
  )
  const format = useFormat()
  const [asks, setAsks] = useState(false)
  const endAll = async () => {
    await read(api.DELETE('/api/v1/sessions', { params: { query: { user: userId } } }))
    await queries.invalidateQueries({ queryKey: ['users', userId, 'sessions'] })
    showToast(users.ended)
    setAsks(false)
  }
  return (
    <Section title={users.sessions}>
      <PagedItems
        label={users.sessions}
        list={list}
        itemKey={(session) => session.id}
        title={(session) => session.browser || session.user_agent || profile.unknownBrowser}
        detail={(session) => (
          <>
            {session.address && `${session.address} · `}
            {users.lastSeen} <Time at={session.last_seen_at} />
          </>
        )}
        empty={users.noSessions}
      />
      {list.rows.length > 0 && (
        <Actions>
          <Button onPress={() => setAsks(true)}>{users.endAll}</Button>
        </Actions>
      )}
      {asks && (
        <ConfirmDestroy
          title={users.endAllTitle(`${format.number(list.rows.length)}${list.hasMore ? '+' : ''}`)}
          confirm={users.endAll}
          typed={null}
          onConfirm={endAll}
          onClose={() => setAsks(false)}
        >
          <p>{users.endAllText}</p>
        </ConfirmDestroy>
      )}
    </Section>
  )
}

function Tokens({ userId, onRevoke }: PartProps) {
  const { common, profile, users } = useMessages()
  const search = useItemSearch<TokenOrder>('-created_at')
  const list = usePagedList(['users', userId, 'tokens', 'list', search.query], (cursor) =>
    read(api.GET('/api/v1/tokens', { params: { query: { ...search.query, ...pageOf(userId, cursor), revoked: false } } })),
  )
  return (
    <Section title={users.tokens}>
      <ItemTools
        label={profile.searchTokens}
        search={search}
        list={list}
        orders={listTokenOrders(common)}
      />
      <PagedItems
        label={users.tokens}
        list={list}
        itemKey={(token) => token.id}
        title={(token) => token.name}
        detail={(token) => (
          <>
            {token.scopes.join(' ')} · {users.lastUsed} <Time at={token.last_used_at} />
          </>
        )}
        end={(token) => (
          <Button
            onPress={() =>
              onRevoke({
                name: token.name,
                revoke: () => read(api.DELETE('/api/v1/tokens/{token_id}', { params: { path: { token_id: token.id } } })),
              })
            }
          >
            {users.revoke}
          </Button>
        )}
        empty={search.words ? common.nothingMatches(search.words) : users.noTokens}
      />
    </Section>
  )
}

function Grants({ userId, onRevoke }: PartProps) {
  const { users } = useMessages()
  const list = usePagedList(['users', userId, 'grants', 'list'], (cursor) =>
    read(api.GET('/api/v1/oauth/grants', { params: { query: pageOf(userId, cursor) } })),
  )
  return (
    <Section title={users.grants}>
      <PagedItems
        label={users.grants}
        list={list}
        itemKey={(grant) => grant.id}
        title={(grant) => grant.client_name || grant.client_id}
        detail={(grant) => (
          <>
            {grant.scopes.join(' ')} · {users.lastUsed} <Time at={grant.last_used_at} />
          </>
        )}
        end={(grant) => (
          <Button
            onPress={() =>
              onRevoke({
                name: grant.client_name || grant.client_id,
                revoke: () => read(api.DELETE('/api/v1/oauth/grants/{grant_id}', { params: { path: { grant_id: grant.id } } })),
              })
            }
          >
            {users.revoke}
          </Button>
        )}
        empty={users.noGrants}
      />
    </Section>
  )
}

function AbsentWork({ userId, onRevoke }: PartProps) {
  const { mandates } = useMessages()
  const nameOf = useMandateName()
  const list = usePagedList(['users', userId, 'mandates', 'list'], (cursor) =>
    read(api.GET('/api/v1/mandates', { params: { query: pageOf(userId, cursor) } })),
  )
  return (
    <Section title={mandates.title}>
      <PagedItems
        label={mandates.title}
        list={list}
        itemKey={(mandate) => mandate.id}
        title={nameOf}
        detail={(mandate) => <MandateDetail mandate={mandate} />}
        end={(mandate) => (
          <Button
            onPress={() =>
              onRevoke({
                name: nameOf(mandate),
                text: mandates.endText,
                revoke: () => read(api.DELETE('/api/v1/mandates/{mandate_id}', { params: { path: { mandate_id: mandate.id } } })),
              })
            }
          >
            {mandates.end}
          </Button>
        )}
        empty={mandates.none}
      />
    </Section>
  )
}

function pageOf(user: string, cursor: string | undefined) {
  return { user, limit: SHOWN, ...(cursor && { cursor }) }
}
