import { Link } from '@tanstack/react-router'
import { type KeyboardEvent, useId, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { Facts } from '../../components/Facts.tsx'
import { useFormat, useMessages } from '../../messages/index.tsx'
import styles from './activity.module.css'
import { buildColumns, type Cell, type Column, findNextSpot, HOUR_HEIGHT, type Spot } from './columns.ts'
import { countHours, type DayScale, isChangeDay } from './days.ts'
import type { ActivitySummary } from './queries.ts'
import { listSources, useSourceName } from './sources.ts'
import { useEntryTime } from './useEntryTime.ts'
import { SLEEP, useEntryTitle } from './useEntryTitle.ts'

/** Where there is no earlier entry of the day's work, the picture begins at this hour: not at night, with sleep. */
const FIRST_HOUR = 8
/** Height that a title with its time needs, px. */
const TWO_LINES = 40

interface PictureProps {
  summary: ActivitySummary
  scales: readonly DayScale[]
}

/**
 * Entries on an axis of time from above: a lane for each source of a day, or one for each day. One entry is reached by
 * Tab, the others by arrows; the one that is chosen is told in full below.
 */
export function Picture({ summary, scales }: PictureProps) {
  const { days, sources } = summary
  const { activity } = useMessages()
  const format = useFormat()
  const hint = useId()
  const [now] = useState(Date.now)
  const [spot, setSpot] = useState<Spot>({ column: 0, cell: 0 })
  const [isChosen, choose] = useState(false)
  const frame = useRef<HTMLDivElement>(null)
  const columns = useMemo(() => buildColumns(summary, scales), [summary, scales])
  const colors = useMemo(() => listSources([...sources, ...days.flatMap((day) => day.entries)]), [sources, days])
  const reachable = findReachable(columns, spot)
  const chosen = isChosen && reachable ? columns[reachable.column]!.cells[reachable.cell]! : null
  const axis = scales.find((scale) => !isChangeDay(scale)) ?? scales[0]!
  const hasAxis = ({ scale }: Column) => scale !== axis && isChangeDay(scale)
  const lanes = columns.map((column) => `minmax(${hasAxis(column) ? 12 : days.length > 1 ? 6 : 9}rem, 1fr)`)
  const first = Math.min(FIRST_HOUR, ...columns.flatMap(({ cells, scale }) => cells.map((cell) => measureStart(cell, scale))))
  useLayoutEffect(() => {
    if (frame.current) frame.current.scrollTop = Math.floor(first) * HOUR_HEIGHT
  }, [first])
  const move = (event: KeyboardEvent<HTMLElement>) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !reachable) return
    const next = findNextSpot(columns, reachable, event.key)
    if (!next) return
    event.preventDefault()
    frame.current?.querySelector<HTMLElement>(`[data-spot="${next.column} ${next.cell}"]`)?.focus()
  }
  if (columns.length === 0) return null
  const title = days.map(({ date }) => format.day(date, 'long'))
  return (
    <figure className={styles.figure}>
      <div
        ref={frame}
        role="group"
        aria-label={activity.picture(title.length > 1 ? activity.span(title[0]!, title.at(-1)!) : title[0]!)}
        aria-describedby={hint}
        className={styles.frame}
        onKeyDown={move}
        {...(!reachable && { tabIndex: 0 })}
      >
        <div className={styles.grid} style={{ gridTemplateColumns: `max-content ${lanes.join(' ')}` }}>
          <Axis scale={axis} />
          {columns.map((column, place) => (
            <Lane
              key={column.key}
              column={column}
              place={place}
              colors={colors}
              hasAxis={hasAxis(column)}
              now={now}
              reachable={reachable?.column === place ? reachable.cell : null}
              onChoose={(cell) => {
                setSpot({ column: place, cell })
                choose(true)
              }}
            />
          ))}
        </div>
      </div>
      {chosen && <Chosen cell={chosen} scale={columns[reachable!.column]!.scale} />}
      <p id={hint} className={styles.note}>
        {activity.keys}
      </p>
    </figure>
  )
}

/** The entry that Tab reaches: the chosen one, else the first that there is. */
function findReachable(columns: readonly Column[], spot: Spot): Spot | null {
  if (columns[spot.column]?.cells[spot.cell]) return spot
  const column = columns.findIndex(({ cells }) => cells.length > 0)
  return column < 0 ? null : { column, cell: 0 }
}

/** Hours from the beginning of the day to an entry that began on it. */
function measureStart({ placement, entry, start }: Cell, scale: DayScale): number {
  return placement && entry.kind !== SLEEP && start >= scale.start ? placement.from * countHours(scale) : FIRST_HOUR
}

function Axis({ scale }: { scale: DayScale }) {
  return (
    <div className={styles.axis} aria-hidden data-change={isChangeDay(scale) || undefined}>
      <div className={styles.laneHead} />
      <div className={styles.body} style={{ height: countHours(scale) * HOUR_HEIGHT }}>
        <HourLabels scale={scale} />
      </div>
    </div>
  )
}

function HourLabels({ scale }: { scale: DayScale }) {
  const format = useFormat()
  return scale.hours.map(({ at, share }) => (
    <span key={at} className={styles.hour} style={{ top: `${share * 100}%` }}>
      {format.clock(at, scale.timeZone, isChangeDay(scale))}
    </span>
  ))
}

interface LaneProps {
  column: Column
  place: number
  colors: ReadonlyMap<string, number>
  /** Its hours are not those of the axis. */
  hasAxis: boolean
  now: number
  reachable: number | null
  onChoose: (cell: number) => void
}

function Lane({ column, place, colors, hasAxis, now, reachable, onChoose }: LaneProps) {
  const format = useFormat()
  const nameSource = useSourceName()
  const { scale, source, cells } = column
  const hours = countHours(scale)
  const isNow = now >= scale.start && now < scale.end
  return (
    <section className={styles.lane} aria-label={source === null ? format.day(scale.day, 'long') : nameSource(source)}>
      <div className={styles.laneHead}>
        {source === null ? (
          <Link
            from="/activity"
            to="."
            search={{ view: 'day', date: scale.day }}
            className={styles.laneName}
            aria-current={isNow ? 'date' : undefined}
          >
            {format.day(scale.day)}
          </Link>
        ) : (
          <span className={styles.laneName}>{nameSource(source)}</span>
        )}
        {cells.map((cell, index) =>
          cell.placement ? null : (
            <Entry key={index} {...{ cell, scale, colors, onChoose }} spot={[place, index]} isReachable={index === reachable} />
          ),
        )}
      </div>
      <div className={styles.body} style={{ height: hours * HOUR_HEIGHT }} data-axis={hasAxis || undefined}>
        {scale.hours.map(({ at, share }) => (
          <span key={at} className={styles.line} style={{ top: `${share * 100}%` }} />
        ))}
        {hasAxis && <HourLabels scale={scale} />}
        {isNow && <span className={styles.now} style={{ top: `${((now - scale.start) / (scale.end - scale.start)) * 100}%` }} />}
        <div className={styles.entries}>
          {cells.map((cell, index) =>
            cell.placement ? (
              <Entry key={index} {...{ cell, scale, colors, onChoose }} spot={[place, index]} isReachable={index === reachable} />
            ) : null,
          )}
        </div>
      </div>
    </section>
  )
}

interface EntryProps {
  cell: Cell
  scale: DayScale
  colors: ReadonlyMap<string, number>
  spot: [column: number, cell: number]
  isReachable: boolean
  onChoose: (cell: number) => void
}

function Entry({ cell, scale, colors, spot, isReachable, onChoose }: EntryProps) {
  const nameSource = useSourceName()
  const time = useEntryTime()(cell, scale)
  const { entry, placement } = cell
  const title = useEntryTitle()(entry)
  const choose = () => onChoose(spot[1])
  return (
    <button
      type="button"
      className={styles.entry}
      style={
        placement
          ? {
              top: `${placement.from * 100}%`,
              height: `calc(${(placement.to - placement.from) * 100}% - 2px)`,
              left: `${(placement.column / placement.columns) * 100}%`,
              width: `calc(${100 / placement.columns}% - 2px)`,
            }
          : undefined
      }
      tabIndex={isReachable ? 0 : -1}
      data-source={colors.get(entry.source)}
      data-spot={spot.join(' ')}
      data-running={cell.isRunning || undefined}
      data-short={(placement && (placement.to - placement.from) * countHours(scale) * HOUR_HEIGHT < TWO_LINES) || undefined}
      onFocus={choose}
      onClick={choose}
      onPointerEnter={choose}
    >
      <span className={styles.entryTitle} dir="auto">
        {title}
      </span>{' '}
      <span className={styles.entryTime}>{time}</span>
      <span className="visually-hidden">{[nameSource(entry.source), entry.project].filter(Boolean).join(', ')}</span>
    </button>
  )
}

/** All that is known of the entry that has the focus or was pointed at last. */
function Chosen({ cell, scale }: { cell: Cell; scale: DayScale }) {
  const { activity } = useMessages()
  const { columns } = activity
  const format = useFormat()
  const nameSource = useSourceName()
  const title = useEntryTitle()(cell.entry)
  const { entry } = cell
  const time = useEntryTime()(cell, scale)
  const facts: [string, string | null | undefined][] = [
    [columns.time, `${format.day(scale.day)} ${time}`],
    [columns.source, nameSource(entry.source)],
    [columns.project, entry.project],
    [columns.tags, entry.tags?.join(', ')],
    [columns.detail, entry.detail],
  ]
  return (
    <section className={styles.chosen} aria-label={activity.chosen}>
      <p className={styles.chosenTitle} dir="auto">
        {title}
      </p>
      <Facts facts={facts.flatMap(([name, value]) => (value ? [[name, value] as const] : []))} />
    </section>
  )
}
