import type { SchemaScheduleView } from '../../api/schema.d.ts'
import { StatusBadge, type Tone } from '../../components/StatusBadge.tsx'
import { useMessages } from '../../messages/index.tsx'

const TONES: Record<SchemaScheduleView['state'], Tone> = {
  waiting_for_consent: 'warn',
  active: 'ok',
  paused: 'info',
  ended: 'none',
}

export function ScheduleBadge({ state }: { state: SchemaScheduleView['state'] }) {
  const { schedules } = useMessages()
  return <StatusBadge tone={TONES[state]} text={schedules.states[state]} />
}
