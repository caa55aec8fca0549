import { useQuery } from '@tanstack/react-query'
import { api, read } from '../../api/client.ts'
import { Time } from '../../components/Time.tsx'
import { useFormat, useMessages } from '../../messages/index.tsx'
import styles from './logs.module.css'

/** How long the log is kept, and since when it is. The operator sets it where MCPist runs. */
export function RetentionLine() {
  const { logs } = useMessages()
  const format = useFormat()
  const { data } = useQuery({
    queryKey: ['audit', 'retention'],
    queryFn: () => read(api.GET('/api/v1/audit/retention', {})),
    meta: { fixed: true },
  })
  // Its line is there before it is known: the table below measures where it begins once.
  if (!data) return <p className={styles.retention} aria-hidden />
  const { keep_months: months, oldest_at: oldest } = data
  return (
    <p className={styles.retention}>
      {months === null ? logs.keepsAll : logs.keeps(format.number(months))}{' '}
      {oldest && (
        <>
          {logs.oldest}: <Time at={oldest} />
        </>
      )}
    </p>
  )
}
