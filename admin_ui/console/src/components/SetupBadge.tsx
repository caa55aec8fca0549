import { useMessages } from '../messages/index.tsx'
import type { ConnectMethod } from './connectMethods.ts'
import { StatusBadge, type Tone } from './StatusBadge.tsx'

/** How far a service is set up: how it is connected, or that it is switched off. */
export type SetupState = ConnectMethod | 'off'

const TONES: Record<SetupState, Tone> = { key: 'ok', oauth: 'ok', needs_client: 'warn', needs_site: 'warn', roles_only: 'info', off: 'none' }

/** Whether accounts of a service can be connected. */
export function SetupBadge({ state }: { state: SetupState }) {
  return <StatusBadge tone={TONES[state]} text={useMessages().connections.setup[state]} />
}
