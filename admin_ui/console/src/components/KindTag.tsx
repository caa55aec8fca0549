import { useMessages } from '../messages/index.tsx'
import styles from './KindTag.module.css'

/** Says of a resource or prompt that it is one; a tool needs no word. */
export function KindTag({ kind }: { kind: 'tool' | 'resource' | 'prompt' }) {
  const { tools } = useMessages()
  return kind === 'tool' ? null : <span className={styles.kind}>{tools.kinds[kind]}</span>
}
