import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaOAuthClientTestView, SchemaOAuthClientView } from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import { ItemList } from '../../components/Facts.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { ProblemNotice, useOnline } from '../../components/States.tsx'
import { StatusBadge, type Tone } from '../../components/StatusBadge.tsx'
import { useAction } from '../../components/useAction.ts'
import { useMessages } from '../../messages/index.tsx'
import styles from './services.module.css'

const NOTHING = [] as const
const TONES: Record<SchemaOAuthClientTestView['outcome'], Tone> = { ok: 'ok', failed: 'bad', unknown: 'warn' }

/** Causes of the API where the vendor was not reached, or did not answer. */
const AWAY = new Set([
  'address', 'name', 'connect', 'tls', 'connect_timeout', 'timeout', 'cut_off', 'too_many_requests', 'unavailable', 'server_error',
])

/** The registered clients at a provider: tested, and removed. */
export function OAuthClientList({ clients }: { clients: SchemaOAuthClientView[] }) {
  const { common, problems, services } = useMessages()
  const { oauth } = services
  const queries = useQueryClient()
  const online = useOnline()
  const { open } = useOverlay(NOTHING)
  const { busy, problem, run } = useAction()
  const [tested, setTested] = useState<{ id: string; result: SchemaOAuthClientTestView } | null>(null)
  const test = (id: string) =>
    run(async () => {
      setTested(null)
      const params = { path: { oauth_client_id: id } }
      const result = await read(api.POST('/api/v1/oauth-clients/{oauth_client_id}/test', { params }))
      await queries.invalidateQueries({ queryKey: ['oauth-clients'] })
      setTested({ id, result })
    })
  const nameOf = (client: SchemaOAuthClientView) => (client.role_id ? oauth.ofRole(client.role) : oauth.everybody)
  return (
    <>
      <h4 className={styles.heading}>{oauth.clients}</h4>
      <ItemList
        label={oauth.clients}
        items={clients}
        itemKey={(client) => client.id}
        title={nameOf}
        detail={(client) => `${client.client_id} · ${oauth.accounts(client.accounts)}`}
        end={(client) => (
          <>
            <StatusBadge
              tone={client.state === 'ok' ? 'ok' : 'bad'}
              text={client.state === 'ok' ? oauth.working : oauth.broken}
            />
            <Button isPending={busy} isDisabled={!online} onPress={() => void test(client.id)}>
              {oauth.test}
            </Button>
            <Button
              kind="danger"
              aria-label={oauth.removeClient(nameOf(client))}
              isDisabled={!online}
              onPress={() => open({ dialog: 'remove-client', client: client.id })}
            >
              {common.remove}
            </Button>
          </>
        )}
        empty=""
      />
      <div role="status">
        {busy && <p>{oauth.testing}</p>}
        {tested && <Verdict result={tested.result} />}
      </div>
      {problem && <ProblemNotice error={problem} title={problems.actionTitle} />}
    </>
  )
}

function Verdict({ result }: { result: SchemaOAuthClientTestView }) {
  const { oauth } = useMessages().services
  const text = oauth.verdicts[result.outcome === 'ok' ? 'ok' : result.cause] ?? (AWAY.has(result.cause) ? oauth.away : oauth.unknown)
  return (
    <p className={styles.verdict}>
      <StatusBadge tone={TONES[result.outcome]} text={oauth.outcomes[result.outcome]} /> {text}
    </p>
  )
}
