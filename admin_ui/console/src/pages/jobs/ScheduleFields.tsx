import type { SchemaScheduleView } from '../../api/schema.d.ts'
import { Field, SelectField } from '../../components/Field.tsx'
import { formatWallClock, getTimeZone, listTimeZones } from '../../messages/format.ts'
import { useMessages } from '../../messages/index.tsx'
import styles from './jobs.module.css'
import { findKind, INTERVAL_UNITS, isInterval, KINDS, NOTIFIES, OVERLAPS, type RuleKind, splitInterval } from './scheduleRules.ts'

interface ScheduleFieldsProps {
  /** The one that is edited. */
  schedule?: SchemaScheduleView
  kind: RuleKind
  onKind: (kind: RuleKind) => void
}

/** Name, times and rules of a schedule, under the names that the API has. */
export function ScheduleFields({ schedule, kind, onKind }: ScheduleFieldsProps) {
  const { jobs, schedules } = useMessages()
  // The permission of a single run ends soon, so it stays one (decision 142).
  const kinds = schedule ? KINDS.filter((one) => (one === 'at') === (findKind(schedule) === 'at')) : KINDS
  return (
    <>
      <Field label={schedules.name} help={schedules.nameHelp} name="title" maxLength={200} isRequired defaultValue={schedule?.title ?? ''} />
      {kinds.length > 1 && (
        <SelectField
          label={schedules.columns.when}
          value={kind}
          onChange={onKind}
          choices={kinds.map((value) => ({ value, label: schedules.kinds[value] }))}
        />
      )}
      <RuleFields kind={kind} {...(schedule && { schedule })} />
      <SelectField
        label={schedules.overlap}
        name="overlap"
        defaultValue={schedule?.overlap ?? 'skip'}
        choices={OVERLAPS.map((value) => ({ value, label: schedules.overlaps[value] }))}
      />
      <SelectField
        label={jobs.notify}
        help={jobs.notifyHelp}
        name="notify"
        defaultValue={schedule?.notify ?? 'never'}
        choices={NOTIFIES.map((value) => ({ value, label: jobs.notifies[value] }))}
      />
    </>
  )
}

function RuleFields({ schedule, kind }: Pick<ScheduleFieldsProps, 'schedule' | 'kind'>) {
  const { schedules } = useMessages()
  const zone = schedule?.time_zone ?? getTimeZone()
  const interval = splitInterval(schedule?.every_seconds ?? 86_400)
  const unit = interval.unit === 'second' ? 'minute' : interval.unit
  if (kind === 'every')
    return (
      <div className={styles.interval}>
        <Field
          label={schedules.interval}
          name="count"
          inputMode="decimal"
          maxLength={10}
          isRequired
          defaultValue={String(interval.unit === 'second' ? interval.count / 60 : interval.count)}
          validate={(text) => (isInterval(text) ? null : schedules.intervalWrong)}
        />
        <SelectField
          label={schedules.unit}
          name="unit"
          defaultValue={unit}
          choices={INTERVAL_UNITS.map((value) => ({ value, label: schedules.units[value] }))}
        />
      </div>
    )
  return (
    <>
      {kind === 'cron' ? (
        <Field label={schedules.cron} help={schedules.cronHelp} name="cron" maxLength={100} isRequired defaultValue={schedule?.cron ?? ''} />
      ) : (
        <Field
          label={schedules.at}
          name="at"
          type="datetime-local"
          isRequired
          defaultValue={schedule?.at ? formatWallClock(schedule.at, zone) : ''}
        />
      )}
      <SelectField
        label={schedules.zone}
        name="time_zone"
        defaultValue={zone}
        choices={listTimeZones(zone).map((value) => ({ value, label: value }))}
      />
    </>
  )
}
