import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { ChevronLeft, ChevronRight } from 'lucide-react'
import { useMemo, useState } from 'react'
import { isWithoutTools } from '../../api/tools.ts'
import { useShortcut } from '../../app/shortcuts.tsx'
import { Button, IconButton } from '../../components/Button.tsx'
import { ListTools, PageHead } from '../../components/ListTools.tsx'
import { Empty, ProblemNotice, Skeleton } from '../../components/States.tsx'
import { ViewLinks } from '../../components/ViewLinks.tsx'
import { findDay, getTimeZone, isTimeZone } from '../../messages/format.ts'
import { useFormat, useMessages } from '../../messages/index.tsx'
import { ActivityTable } from './ActivityTable.tsx'
import styles from './activity.module.css'
import { addDays, buildScale, countHours, DAYS_OF_WEEK, findMonday, isChangeDay, isDay } from './days.ts'
import { Picture } from './Picture.tsx'
import { activityQuery, type ActivitySummary } from './queries.ts'
import { activityRoute, VIEWS } from './route.ts'
import { SourceList } from './SourceList.tsx'
import { Totals } from './Totals.tsx'

const KEPT = ['date'] as const

/** What the person did on a day or in a week, by their own time tracker, calendar and health data. */
export function ActivityPage() {
  const { activity } = useMessages()
  const format = useFormat()
  const { view = 'week', date } = activityRoute.useSearch()
  const [today] = useState(() => findDay(Date.now(), getTimeZone()))
  const day = date && isDay(date) ? date : today
  const [from, days] = view === 'week' ? [findMonday(day), DAYS_OF_WEEK] : [day, 1]
  const { data, error, refetch, isPlaceholderData } = useQuery(activityQuery(from, days, getTimeZone()))
  const isHidden = isWithoutTools(error)
  const to = addDays(from, days - 1)
  return (
    <>
      <PageHead title={activity.title} />
      {isHidden ? (
        <Empty title={activity.noToolsTitle} text={activity.noToolsText} />
      ) : (
        <>
          <ViewLinks
            label={activity.views}
            selected={view}
            views={VIEWS.map((one) => ({ view: one, label: activity.viewNames[one] }))}
            kept={KEPT}
          />
          <Steps view={view} day={day} today={today} />
          <h2 className={styles.span} aria-live="polite">
            {days > 1 ? activity.span(format.day(from, 'long'), format.day(to, 'long')) : format.day(from, 'long')}
          </h2>
          {error ? (
            <ProblemNotice error={error} onRetry={() => void refetch()} />
          ) : data ? (
            <div aria-busy={isPlaceholderData} className={styles.page}>
              <Days summary={data} />
            </div>
          ) : (
            <Skeleton lines={10} />
          )}
        </>
      )}
    </>
  )
}

/** Leads to the day or week before and after, and to today. */
function Steps({ view, day, today }: { view: 'week' | 'day'; day: string; today: string }) {
  const { activity } = useMessages()
  const navigate = useNavigate({ from: '/activity' })
  const go = (date: string) => void navigate({ search: (before) => ({ ...before, date: date === today ? undefined : date }) })
  const length = view === 'week' ? DAYS_OF_WEEK : 1
  const [back, on] = [() => go(addDays(day, -length)), () => go(addDays(day, length))]
  useShortcut('k', activity.previous[view], back)
  useShortcut('j', activity.next[view], on)
  return (
    <ListTools>
      <IconButton icon={ChevronLeft} label={activity.previous[view]} kind="plain" onPress={back} />
      <IconButton icon={ChevronRight} label={activity.next[view]} kind="plain" onPress={on} />
      <Button onPress={() => go(today)} isDisabled={day === today}>
        {activity.today}
      </Button>
      <label className={styles.date}>
        <span className="visually-hidden">{activity.date}</span>
        <input
          type="date"
          value={day}
          min="1970-01-01"
          max="2999-12-31"
          onChange={(event) => isDay(event.currentTarget.value) && go(event.currentTarget.value)}
        />
      </label>
    </ListTools>
  )
}

function Days({ summary }: { summary: ActivitySummary }) {
  const { activity } = useMessages()
  const format = useFormat()
  const { days, timeZone } = summary
  const zone = isTimeZone(timeZone) ? timeZone : getTimeZone()
  const scales = useMemo(() => days.map((one) => buildScale(one.date, zone)), [days, zone])
  return (
    <>
      <p className={styles.note}>{activity.inZone(format.zone(zone, scales[0]!.start))}</p>
      {scales.filter(isChangeDay).map((scale) => (
        <p key={scale.day} className={styles.note}>
          {countHours(scale) > 0
            ? activity.hoursOfDay(format.day(scale.day, 'long'), countHours(scale))
            : activity.noDay(format.day(scale.day, 'long'))}
        </p>
      ))}
      <SourceList sources={summary.sources} />
      <div className={styles.columns}>
        <div className={styles.main}>
          <Picture summary={summary} scales={scales} />
          {days.map(({ date, left_out: count = 0 }) =>
            count > 0 ? (
              <p key={date} className={styles.note}>
                {activity.leftOut(format.day(date), count)}
              </p>
            ) : null,
          )}
          <ActivityTable days={days} scales={scales} />
        </div>
        <Totals days={days} />
      </div>
    </>
  )
}
