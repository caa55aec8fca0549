import type { SchemaHealthState } from '../api/schema.d.ts'
import { ConnectionBadge } from './ConnectionBadge.tsx'
import { findConnectMethod, isConnectable } from './connectMethods.ts'
import { SetupBadge } from './SetupBadge.tsx'
import { useConnectSetup } from './useConnectSetup.ts'

interface AccountBadgeProps {
  module: string
  state: SchemaHealthState
}

/** How somebody's account at a service stands, for administrators; where nobody can connect one yet, what is missing. */
export function AccountBadge({ module, state }: AccountBadgeProps) {
  const { data } = useConnectSetup()
  const method = state === 'needs_connect' && data ? findConnectMethod(module, data) : null
  return method && !isConnectable(method) ? <SetupBadge state={method} /> : <ConnectionBadge state={state} />
}
