import type { SchemaAuditItemView } from '../api/schema.d.ts'
import { StatusBadge, type Tone } from './StatusBadge.tsx'
import { useMessages } from '../messages/index.tsx'
import { OUTCOMES } from '../pages/logs/route.ts'

const TONES: Record<(typeof OUTCOMES)[number], Tone> = {
  ok: 'ok',
  error: 'bad',
  denied: 'warn',
  timeout: 'warn',
  cancelled: 'none',
  pending: 'info',
  unknown: 'none',
}

/** How it ended. An attempt at a tool that exists and is hidden from the caller stands out from all else. */
export function LogBadge({ entry }: { entry: SchemaAuditItemView }) {
  const { logs } = useMessages()
  if (entry.denial) return <StatusBadge tone={entry.denial === 'hidden_tool' ? 'bad' : 'warn'} text={logs.denials[entry.denial]} />
  const known = OUTCOMES.find((outcome) => outcome === entry.outcome)
  if (known) return <StatusBadge tone={TONES[known]} text={logs.outcomes[known]} />
  return entry.outcome
}

/** `notion.search_pages` of a call, else the kind of the event. */
export function nameEntry(entry: SchemaAuditItemView): string {
  return entry.module ? [entry.module, entry.tool].filter(Boolean).join('.') : entry.kind
}
