import { StatusBadge, type Tone } from '../../components/StatusBadge.tsx'
import { useMessages } from '../../messages/index.tsx'
import type { RequestState } from './route.ts'

const TONES: Record<RequestState, Tone> = { open: 'info', approved: 'ok', declined: 'bad', withdrawn: 'none' }

export function RequestBadge({ state }: { state: RequestState }) {
  const { requests } = useMessages()
  return <StatusBadge tone={TONES[state]} text={requests.states[state]} />
}
