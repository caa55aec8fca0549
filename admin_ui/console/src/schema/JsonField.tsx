import { useState } from 'react'
import { Field } from '../components/Field.tsx'
import { useMessages } from '../messages/index.tsx'
import styles from './SchemaForm.module.css'

interface JsonFieldProps {
  label: string
  value: unknown
  onChange: (value: unknown) => void
  isRequired?: boolean
  help?: string
}

/** A value written as JSON. While the text is none, the text itself is the value: it is refused rather than an old one sent. */
export function JsonField({ label, value, onChange, isRequired = false, help }: JsonFieldProps) {
  const { schemas } = useMessages()
  const [text, setText] = useState(value === undefined ? '' : JSON.stringify(value, null, 2))
  const [isWrong, setWrong] = useState(false)
  const change = (next: string) => {
    setText(next)
    try {
      onChange(next.trim() === '' ? undefined : JSON.parse(next))
      setWrong(false)
    } catch {
      onChange(next)
      setWrong(true)
    }
  }
  return (
    <div className={styles.json}>
      <Field label={label} value={text} onChange={change} isRequired={isRequired} isInvalid={isWrong} long {...(help && { help })} />
      {isWrong && (
        <p role="alert" className={styles.error}>
          {schemas.notJson}
        </p>
      )}
    </div>
  )
}
