import { type ReactNode, useId } from 'react'
import styles from './Card.module.css'
import { ProblemNotice, Skeleton } from './States.tsx'

interface CardProps {
  title: string
  help: string
  /** At the end of the head. */
  action?: ReactNode
  children: ReactNode
}

/** One kind of settings. */
export function Card({ title, help, action, children }: CardProps) {
  const id = useId()
  return (
    <section aria-labelledby={id} className={styles.card}>
      <div className={styles.cardHead}>
        <div className={styles.cardTitle}>
          <h2 id={id}>{title}</h2>
          <p className={styles.help}>{help}</p>
        </div>
        {action}
      </div>
      {children}
    </section>
  )
}

interface LoadedProps<Data> {
  query: { data: Data | undefined; error: unknown; refetch: () => unknown }
  children: (data: Data) => ReactNode
}

/** What a query has fetched, or that it has not. */
export function Loaded<Data>({ query, children }: LoadedProps<Data>) {
  if (query.data !== undefined) return children(query.data)
  if (query.error) return <ProblemNotice error={query.error} onRetry={() => void query.refetch()} />
  return <Skeleton lines={2} />
}
