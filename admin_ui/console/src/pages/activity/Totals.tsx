import { Facts, Section } from '../../components/Facts.tsx'
import { type Messages, useFormat, useMessages } from '../../messages/index.tsx'
import styles from './activity.module.css'
import type { ActivityDay } from './queries.ts'
import { addTotals, MEANS } from './totals.ts'

/** What was counted: of a day, or of all days together. */
export function Totals({ days }: { days: readonly ActivityDay[] }) {
  const { activity } = useMessages()
  const format = useFormat()
  const found = Object.entries(addTotals(days)).filter(([name]) => name in activity.totalNames)
  return (
    <aside className={styles.totals} aria-label={activity.totals}>
      <Section title={activity.totals} level={2}>
        {found.length === 0 ? (
          <p className={styles.note}>{activity.noTotals}</p>
        ) : (
          <Facts facts={found.map(([name, value]) => [activity.totalNames[name]!, writeTotal(name, value, activity, format)])} />
        )}
      </Section>
    </aside>
  )
}

function writeTotal(name: string, value: number, texts: Messages['activity'], format: ReturnType<typeof useFormat>): string {
  if (name.endsWith('_minutes')) return writeMinutes(value, texts)
  if (name.endsWith('_meters')) return texts.kilometers(format.number(Math.round(value / 100) / 10))
  if (name === 'calories_kcal') return texts.kilocalories(format.number(Math.round(value)))
  if (MEANS.has(name)) return texts.perMinute(format.number(Math.round(value)))
  return format.number(Math.round(value))
}

/** A length in hours and minutes. */
export function writeMinutes(minutes: number, texts: Messages['activity']): string {
  const whole = Math.round(minutes)
  return texts.minutes(Math.floor(whole / 60), whole % 60)
}
