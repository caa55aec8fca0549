import { useFormat, useMessages } from '../../messages/index.tsx'
import styles from './activity.module.css'
import type { DayScale } from './days.ts'
import { countMinutes, readEntries } from './entries.ts'
import type { ActivityDay } from './queries.ts'
import { useSourceName } from './sources.ts'
import { writeMinutes } from './Totals.tsx'
import { useEntryTime } from './useEntryTime.ts'
import { useEntryTitle } from './useEntryTitle.ts'

interface ActivityTableProps {
  days: readonly ActivityDay[]
  scales: readonly DayScale[]
}

/** What the picture shows, as a table. */
export function ActivityTable({ days, scales }: ActivityTableProps) {
  const { activity } = useMessages()
  const { columns } = activity
  const format = useFormat()
  const nameSource = useSourceName()
  const writeTime = useEntryTime()
  const writeTitle = useEntryTitle()
  const rows = days.flatMap((day, place) => readEntries(day, scales[place]!).map((one) => ({ ...one, scale: scales[place]! })))
  if (rows.length === 0) return <p className={styles.note}>{activity.nothing}</p>
  return (
    <details className={styles.details}>
      <summary>{activity.asTable}</summary>
      <div className={styles.scroll} tabIndex={0} role="region" aria-label={activity.asTable}>
        <table className={styles.table}>
          <thead>
            <tr>
              {[columns.day, columns.time, columns.length, columns.source, columns.title, columns.project, columns.tags].map((head) => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((one, place) => (
              <tr key={place}>
                <td>{format.day(one.scale.day)}</td>
                <td>{writeTime(one, one.scale)}</td>
                <td>{one.isAllDay ? '' : writeMinutes(countMinutes(one), activity)}</td>
                <td>{nameSource(one.entry.source)}</td>
                <th scope="row" dir="auto">
                  {writeTitle(one.entry)}
                </th>
                <td dir="auto">{one.entry.project}</td>
                <td dir="auto">{one.entry.tags?.join(', ')}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  )
}
