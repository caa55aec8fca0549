import { useFormat, useMessages } from '../messages/index.tsx'

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
