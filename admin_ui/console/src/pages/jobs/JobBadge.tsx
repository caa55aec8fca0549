import type { SchemaJobView } from '../../api/schema.d.ts'
import { StatusBadge, type Tone } from '../../components/StatusBadge.tsx'
import { useMessages } from '../../messages/index.tsx'

type State = SchemaJobView['state'] | 'ending'

const TONES: Record<State, Tone> = {
  queued: 'none',
  running: 'info',
  ending: 'warn',
  succeeded: 'ok',
  failed: 'bad',
  cancelled: 'none',
  unknown: 'warn',
}

export function JobBadge({ job }: { job: Pick<SchemaJobView, 'state' | 'is_cancel_requested'> }) {
  const { jobs } = useMessages()
  const state: State = job.state === 'running' && job.is_cancel_requested ? 'ending' : job.state
  return <StatusBadge tone={TONES[state]} text={jobs.states[state]} />
}
