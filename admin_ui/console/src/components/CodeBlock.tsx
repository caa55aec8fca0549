import { useMessages } from '../messages/index.tsx'
import styles from './CodeBlock.module.css'
import { CopyButton } from './CopyField.tsx'

/** Lines to copy elsewhere. */
export function CodeBlock({ code, label }: { code: string; label: string }) {
  const { common } = useMessages()
  return (
    <div className={styles.block}>
      <pre className={styles.code} tabIndex={0} aria-label={label} role="region">
        <code>{code}</code>
      </pre>
      <CopyButton value={code} label={common.copyLabel(label)} />
    </div>
  )
}
