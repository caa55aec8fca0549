import { useId, useState } from 'react'
import { useFormat, useMessages } from '../messages/index.tsx'
import styles from './Time.module.css'

/** A time as people say it, with the exact one on hover; `Never` without one. */
export function Time({ at }: { at: string | null | undefined }) {
  const format = useFormat()
  const { common } = useMessages()
  if (!at) return <>{common.never}</>
  return (
    <time dateTime={at} title={format.exact(at)}>
      {format.relative(at)}
    </time>
  )
}

/** The same where it is reached by keyboard, too: the exact time shows on focus as on hover, and `Escape` hides it. */
export function ExactTime({ at }: { at: string }) {
  const format = useFormat()
  const id = useId()
  const [isShown, show] = useState(false)
  return (
    <span
      className={styles.exact}
      tabIndex={0}
      aria-describedby={id}
      onFocus={() => show(true)}
      onBlur={() => show(false)}
      onPointerEnter={() => show(true)}
      onPointerLeave={() => show(false)}
      onKeyDown={(event) => event.key === 'Escape' && show(false)}
    >
      <time dateTime={at}>{format.relative(at)}</time>
      <span role="tooltip" id={id} className={styles.tip} hidden={!isShown}>
        {format.exact(at)}
      </span>
    </span>
  )
}
