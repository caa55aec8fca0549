import { Eye, Pencil, Trash2 } from 'lucide-react'
import { useMessages } from '../../messages/index.tsx'
import styles from './tools.module.css'

const ICONS = { reads: Eye, changes: Pencil, destroys: Trash2 }

/** What a tool does to what it works on. */
export function EffectBadge({ effect }: { effect: keyof typeof ICONS }) {
  const { tools } = useMessages()
  const Icon = ICONS[effect]
  return (
    <span className={styles.effect} data-effect={effect}>
      <Icon size={14} aria-hidden />
      {tools.effects[effect]}
    </span>
  )
}
