import type { SchemaScheduleView } from '../../api/schema.d.ts'
import { useMessages } from '../../messages/index.tsx'
import { splitInterval } from './scheduleRules.ts'

/** When a schedule runs: its cron expression, its interval, or that it runs once. */
export function ScheduleRule({ schedule }: { schedule: Pick<SchemaScheduleView, 'cron' | 'every_seconds'> }) {
  const { schedules } = useMessages()
  if (schedule.cron) return <code>{schedule.cron}</code>
  if (schedule.every_seconds === null) return schedules.once
  const { unit, count } = splitInterval(schedule.every_seconds)
  return schedules.every[unit](count)
}
