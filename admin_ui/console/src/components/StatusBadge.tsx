import { CircleAlert, CircleCheck, CircleDashed, Info, type LucideIcon, TriangleAlert } from 'lucide-react'
import styles from './StatusBadge.module.css'

export type Tone = 'ok' | 'warn' | 'bad' | 'info' | 'none'

const ICONS: Record<Tone, LucideIcon> = {
  ok: CircleCheck,
  warn: TriangleAlert,
  bad: CircleAlert,
  info: Info,
  none: CircleDashed,
}

/** A state as colour, icon and word. */
export function StatusBadge({ tone, text }: { tone: Tone; text: string }) {
  const Icon = ICONS[tone]
  return (
    <span className={styles.badge} data-tone={tone}>
      <Icon size={14} aria-hidden />
      {text}
    </span>
  )
}
