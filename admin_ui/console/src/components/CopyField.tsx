import { Check, Copy } from 'lucide-react'
import { useEffect, useId, useState } from 'react'
import { useMessages } from '../messages/index.tsx'
import { IconButton } from './Button.tsx'
import styles from './CopyField.module.css'

const SHOWN_MS = 2000

/** Copies a value; says so for two seconds, to screen readers as well. */
export function CopyButton({ value, label }: { value: string; label: string }) {
  const { common } = useMessages()
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [copied])
  const copy = () => navigator.clipboard.writeText(value).then(() => setCopied(true))
  return (
    <>
      <IconButton icon={copied ? Check : Copy} label={copied ? common.copied : label} onPress={() => void copy()} />
      <span role="status" className="visually-hidden">
        {copied ? common.copied : ''}
      </span>
    </>
  )
}

/** A value to take elsewhere, as the API gave it. */
export function CopyField({ label, value }: { label: string; value: string }) {
  const { common } = useMessages()
  const id = useId()
  return (
    <div className={styles.field}>
      <span id={id} className={styles.label}>
        {label}
      </span>
      <span className={styles.box}>
        <code aria-labelledby={id} role="textbox" aria-readonly tabIndex={0} className={styles.value}>
          {value}
        </code>
        <CopyButton value={value} label={common.copyLabel(label)} />
      </span>
    </div>
  )
}
