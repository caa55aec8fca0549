import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ItemList, Section } from '../../../components/Facts.tsx'
import { ProblemNotice, Skeleton } from '../../../components/States.tsx'
import { StatusBadge } from '../../../components/StatusBadge.tsx'
import { useServiceTitles } from '../../../components/useServiceTitles.ts'
import { useFormat, useMessages } from '../../../messages/index.tsx'
import type { DashboardRange } from '../route.ts'
import styles from './dashboard.module.css'
import { countByService, type ServiceRow } from './health.ts'
import { connectionCountsQuery, figuresQuery } from './queries.ts'

/** Each service: its calls, and how the accounts at it stand. */
export function ServiceHealth({ range }: { range: DashboardRange }) {
  const { dashboard } = useMessages()
  const format = useFormat()
  const nameService = useServiceTitles()
  const figures = useQuery(figuresQuery(range))
  const accounts = useQuery(connectionCountsQuery)
  return (
    <div className={styles.card}>
      <Section title={dashboard.services}>
        {accounts.error && <ProblemNotice error={accounts.error} onRetry={() => void accounts.refetch()} />}
        {accounts.isPending && <Skeleton lines={3} />}
        {accounts.data && (
          <ItemList
            label={dashboard.services}
            items={countByService(accounts.data.counts, figures.data?.services ?? [])}
            itemKey={(row) => row.module}
            title={(row) => (
              <Link to="/logs" search={{ tool: row.module, since: range }}>
                {nameService(row.module)}
              </Link>
            )}
            detail={(row) => dashboard.ofService(format.number(row.calls), format.number(row.errors), format.number(row.denied))}
            end={(row) => <Health row={row} />}
            empty={dashboard.noServices}
          />
        )}
      </Section>
    </div>
  )
}

function Health({ row }: { row: ServiceRow }) {
  const { dashboard } = useMessages()
  return (
    <>
      {row.working > 0 && <StatusBadge tone="ok" text={dashboard.working(row.working)} />}
      {row.failing > 0 && <StatusBadge tone="bad" text={dashboard.failing(row.failing)} />}
      {row.missing > 0 && <StatusBadge tone="none" text={dashboard.missing(row.missing)} />}
    </>
  )
}
