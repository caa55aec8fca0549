import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { SchemaFiguresOverTimeView } from '../../../api/schema.d.ts'
import { ProblemNotice, Skeleton } from '../../../components/States.tsx'
import { TimeChart } from '../../../components/TimeChart.tsx'
import { readOffset } from '../../../messages/format.ts'
import { useFormat, useMessages } from '../../../messages/index.tsx'
import type { DashboardRange } from '../route.ts'
import styles from './dashboard.module.css'
import { findMidday, isBesideMidnight } from './days.ts'
import { figuresQuery } from './queries.ts'

/** Calls, errors, denials, latency and people, in sum and over time. */
export function Figures({ range }: { range: DashboardRange }) {
  const { dashboard } = useMessages()
  const query = useQuery(figuresQuery(range))
  if (query.data) {
    return (
      <>
        <Totals figures={query.data} range={range} />
        <Charts figures={query.data} range={range} />
        {range === '30d' && isBesideMidnight(readOffset(query.dataUpdatedAt)) && (
          <p className={styles.muted}>{dashboard.wholeHours}</p>
        )}
      </>
    )
  }
  if (query.error) return <ProblemNotice error={query.error} onRetry={() => void query.refetch()} />
  return <Skeleton lines={8} />
}

interface FiguresProps {
  figures: SchemaFiguresOverTimeView
  range: DashboardRange
}

function Totals({ figures: { total }, range }: FiguresProps) {
  const { dashboard } = useMessages()
  const format = useFormat()
  const facts: [string, ReactNode][] = [
    [dashboard.calls, <Link key="calls" to="/logs" search={{ kind: 'call', since: range }}>{format.number(total.calls)}</Link>],
    [
      dashboard.errors,
      <Link key="errors" to="/logs" search={{ outcome: 'error', since: range }}>
        {format.number(total.errors)}
      </Link>,
    ],
    [
      dashboard.denied,
      <Link key="denied" to="/logs" search={{ outcome: 'denied', since: range }}>
        {format.number(total.denied)}
      </Link>,
    ],
    [dashboard.latency, total.p95_ms === null ? '–' : dashboard.milliseconds(format.number(Math.round(total.p95_ms)))],
    [dashboard.people, format.number(total.people)],
  ]
  return (
    <dl className={styles.totals}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function Charts({ figures: { points }, range }: FiguresProps) {
  const { dashboard } = useMessages()
  const format = useFormat()
  const labels = points.map(({ start }) => (range === '30d' ? format.date(findMidday(start)) : format.hour(start)))
  const milliseconds = (value: number) => dashboard.milliseconds(format.number(Math.round(value)))
  return (
    <div className={styles.charts}>
      <div className={styles.card}>
        <TimeChart
          title={dashboard.callsOverTime}
          labels={labels}
          kind="bars"
          write={format.number}
          series={[
            { name: dashboard.done, tone: 'accent', values: points.map((one) => one.calls - one.errors) },
            { name: dashboard.errors, tone: 'bad', values: points.map((one) => one.errors) },
            { name: dashboard.denied, tone: 'warn', values: points.map((one) => one.denied) },
          ]}
        />
      </div>
      <div className={styles.card}>
        <TimeChart
          title={dashboard.latencyOverTime}
          labels={labels}
          kind="lines"
          write={milliseconds}
          series={[
            { name: dashboard.p95, tone: 'warn', values: points.map((one) => one.p95_ms) },
            { name: dashboard.median, tone: 'accent', values: points.map((one) => one.median_ms) },
          ]}
        />
      </div>
      <div className={styles.card}>
        <TimeChart
          title={dashboard.peopleOverTime}
          labels={labels}
          kind="bars"
          write={format.number}
          series={[{ name: dashboard.people, tone: 'ok', values: points.map((one) => one.people) }]}
        />
      </div>
    </div>
  )
}
