import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { api, read } from '../../api/client.ts'
import { Button } from '../../components/Button.tsx'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { Actions, ItemList, Section } from '../../components/Facts.tsx'
import { ProblemNotice, Skeleton } from '../../components/States.tsx'
import { Time } from '../../components/Time.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useFormat, useMessages } from '../../messages/index.tsx'
import { userGrantsQuery, userSessionsQuery, userTokensQuery } from './queries.ts'

interface Question {
  name: string
  revoke: () => Promise<unknown>
}

/** With what a person reaches MCPist: browsers, API tokens, applications; each can be ended. */
export function UserAccess({ userId }: { userId: string }) {
  const { users } = useMessages()
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
      {question && (
        <ConfirmDestroy
          title={users.revokeTitle(question.name)}
          confirm={users.revoke}
          typed={question.name}
          onConfirm={revoke}
          onClose={() => setQuestion(null)}
        >
          <p>{users.revokeText}</p>
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
  const { users } = useMessages()
  const queries = useQueryClient()
  const { data, error, refetch } = useQuery(userSessionsQuery(userId))
  const format = useFormat()
  const [asks, setAsks] = useState(false)
  const endAll = async () => {
    await read(api.DELETE('/api/v1/sessions', { params: { query: { user: userId } } }))
    await queries.invalidateQueries({ queryKey: ['users', userId, 'sessions'] })
    showToast(users.ended)
    setAsks(false)
  }
  const items = data?.items ?? []
  return (
    <Part title={users.sessions} error={error} loaded={data !== undefined} onRetry={() => void refetch()}>
      <ItemList
        label={users.sessions}
        items={items}
        itemKey={(session) => session.id}
        title={(session) => session.user_agent || session.address}
        detail={(session) => (
          <>
            {session.address} · {users.lastSeen} <Time at={session.last_seen_at} />
          </>
        )}
        empty={users.noSessions}
      />
      {items.length > 0 && (
        <Actions>
          <Button onPress={() => setAsks(true)}>{users.endAll}</Button>
        </Actions>
      )}
      {asks && (
        <ConfirmDestroy
          title={users.endAllTitle(format.number(items.length))}
          confirm={users.endAll}
          typed={null}
          onConfirm={endAll}
          onClose={() => setAsks(false)}
        >
          <p>{users.endAllText}</p>
        </ConfirmDestroy>
      )}
    </Part>
  )
}

function Tokens({ userId, onRevoke }: PartProps) {
  const { users } = useMessages()
  const { data, error, refetch } = useQuery(userTokensQuery(userId))
  return (
    <Part title={users.tokens} error={error} loaded={data !== undefined} onRetry={() => void refetch()}>
      <ItemList
        label={users.tokens}
        items={data?.items ?? []}
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
        empty={users.noTokens}
      />
    </Part>
  )
}

function Grants({ userId, onRevoke }: PartProps) {
  const { users } = useMessages()
  const { data, error, refetch } = useQuery(userGrantsQuery(userId))
  return (
    <Part title={users.grants} error={error} loaded={data !== undefined} onRetry={() => void refetch()}>
      <ItemList
        label={users.grants}
        items={data?.items ?? []}
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
    </Part>
  )
}

interface PartOfPanelProps {
  title: string
  error: unknown
  loaded: boolean
  onRetry: () => void
  children: ReactNode
}

function Part({ title, error, loaded, onRetry, children }: PartOfPanelProps) {
  return (
    <Section title={title}>
      {error ? <ProblemNotice error={error} onRetry={onRetry} /> : loaded ? children : <Skeleton lines={2} />}
    </Section>
  )
}
