import type { SchemaHealthState } from '../api/schema.d.ts'
import { useMessages } from '../messages/index.tsx'
import { StatusBadge, type Tone } from './StatusBadge.tsx'

const TONES: Record<SchemaHealthState, Tone> = {
  connected: 'ok',
  needs_connect: 'none',
  refreshing: 'info',
  needs_reconnect: 'bad',
  service_misconfigured: 'bad',
  refused: 'warn',
  vendor_down: 'warn',
  disabled: 'none',
}

/** How an account at a service stands. */
export function ConnectionBadge({ state }: { state: SchemaHealthState }) {
  return <StatusBadge tone={TONES[state]} text={useMessages().connections.states[state]} />
}
