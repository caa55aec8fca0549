import type { SchemaJobView } from '../../api/schema.d.ts'
import { StatusBadge, type Tone } from '../../components/StatusBadge.tsx'
import { useMessages } from '../../messages/index.tsx'
import { isAsking } from './jobStates.ts'

type State = SchemaJobView['state'] | 'ending' | 'asks'

const TONES: Record<State, Tone> = {
  queued: 'none',
  running: 'info',
  ending: 'warn',
  asks: 'warn',
  succeeded: 'ok',
  failed: 'bad',
  cancelled: 'none',
  unknown: 'warn',
}

export function JobBadge({ job }: { job: SchemaJobView }) {
  const { jobs } = useMessages()
  const state = findShown(job)
  return <StatusBadge tone={TONES[state]} text={jobs.states[state]} />
}

function findShown(job: SchemaJobView): State {
  if (isAsking(job)) return 'asks'
  return job.state === 'running' && job.is_cancel_requested ? 'ending' : job.state
}
