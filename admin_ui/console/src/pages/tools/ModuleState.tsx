import type { SchemaModuleConnectionView } from '../../api/schema.d.ts'
import { Localized } from '../../components/Localized.tsx'
import { StatusBadge, type Tone } from '../../components/StatusBadge.tsx'
import { useFormat, useMessages } from '../../messages/index.tsx'
import { isAboutToEnd } from './expiry.ts'
import styles from './tools.module.css'

const TONES: Record<SchemaModuleConnectionView['state'] | 'not_set_up', Tone> = {
  ready: 'none',
  connected: 'ok',
  needs_connect: 'warn',
  broken: 'bad',
  not_set_up: 'none',
}

/** Whether a module waits for an account that nobody can connect yet. */
export function isWaitingForSetup(connection: SchemaModuleConnectionView): boolean {
  return connection.state === 'needs_connect' && !connection.connectable
}

/** How a module is connected for the person: whose account, until when, and what is wrong. */
export function ModuleState({ connection }: { connection: SchemaModuleConnectionView }) {
  const { tools } = useMessages()
  const troubled = connection.message.en !== ''
  const state = isWaitingForSetup(connection) ? 'not_set_up' : connection.state
  const tone = state === 'connected' && troubled ? 'warn' : TONES[state]
  return (
    <div className={styles.state}>
      <StatusBadge tone={tone} text={tools.states[state]} />
      <span className={styles.account} dir="auto">
        <Account connection={connection} />
      </span>
      {troubled && (
        <p className={styles.trouble}>
          <Localized text={connection.message} />
          {connection.responsible && <span> · {tools.responsible[connection.responsible as 'owner' | 'administrator']}</span>}
        </p>
      )}
      <Expiry connection={connection} />
    </div>
  )
}

function Account({ connection }: { connection: SchemaModuleConnectionView }) {
  const { tools } = useMessages()
  if (connection.kind === 'shared') return <>{tools.sharedBy(connection.owner)}</>
  return <>{connection.account}</>
}

/** Of an access token that is renewed, nobody has to know the end; of the others everybody. */
function Expiry({ connection }: { connection: SchemaModuleConnectionView }) {
  const { tools } = useMessages()
  const format = useFormat()
  const { token_expires_at: end, renews, state } = connection
  if (state !== 'connected' || !end) return null
  const renewed = isAboutToEnd(end) ? tools.isRenewed : tools.renews(format.relative(end))
  return (
    <time dateTime={end} title={format.exact(end)} className={styles.expiry}>
      {renews ? renewed : tools.endsOn(format.date(end))}
    </time>
  )
}
