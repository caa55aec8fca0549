import { useQuery } from '@tanstack/react-query'
import { api, read } from '../../api/client.ts'
import { Button } from '../../components/Button.tsx'
import { Time } from '../../components/Time.tsx'
import { useFormat, useMessages } from '../../messages/index.tsx'
import styles from './logs.module.css'
import { RETENTION_KEY } from './queries.ts'

interface RetentionLineProps {
  /** Null for whoever may not change it: it is the operator's. */
  onChange: (() => void) | null
}

/** How long the log is kept, and since when it is. */
export function RetentionLine({ onChange }: RetentionLineProps) {
  const { logs } = useMessages()
  const format = useFormat()
  const { data } = useQuery({
    queryKey: RETENTION_KEY,
    queryFn: () => read(api.GET('/api/v1/audit/retention', {})),
    meta: { fixed: true },
  })
  // Its line is there before it is known: the table below measures where it begins once.
  return (
    <div className={styles.retention}>
      {data && (
        <p>
          {data.keep_months === null ? logs.keepsAll : logs.keeps(format.number(data.keep_months))}{' '}
          {data.oldest_at && (
            <>
              {logs.oldest}: <Time at={data.oldest_at} />
            </>
          )}
        </p>
      )}
      {onChange && (
        <Button kind="quiet" onPress={onChange}>
          {logs.retention.change}
        </Button>
      )}
    </div>
  )
}
