import { ChevronDown, ChevronsDown, ChevronsUp, ChevronUp, type LucideIcon, Minus } from 'lucide-react'
import { useMessages } from '../../messages/index.tsx'
import styles from './items.module.css'
import type { Priority } from './queries.ts'

const ICONS: Record<Priority, LucideIcon> = {
  CRITICAL: ChevronsUp,
  HIGH: ChevronUp,
  MEDIUM: Minus,
  LOW: ChevronDown,
  MINIMAL: ChevronsDown,
}

/** A priority as icon and word. */
export function PriorityMark({ priority }: { priority: Priority }) {
  const { items } = useMessages()
  const Icon = ICONS[priority]
  return (
    <span className={styles.priority} data-priority={priority}>
      <Icon size={14} aria-hidden />
      {items.priorities[priority]}
    </span>
  )
}
