import { type KeyboardEvent, type PointerEvent, type ReactNode, useId, useState } from 'react'
import { useMessages } from '../messages/index.tsx'
import { buildLine, computeScale } from './chart.ts'
import styles from './TimeChart.module.css'

export interface Series {
  name: string
  tone: 'accent' | 'ok' | 'warn' | 'bad'
  /** One for each point; null where there is nothing to show. */
  values: readonly (number | null)[]
}

interface TimeChartProps {
  title: string
  /** Times of the points, for people. */
  labels: readonly string[]
  series: readonly Series[]
  /** Bars stand on one another; a line joins the points of its own series. */
  kind: 'bars' | 'lines'
  write: (value: number) => string
}

const WIDTH = 600
const HEIGHT = 160

/** Values over time as a picture, with the same as a table behind a switch. */
export function TimeChart({ title, labels, series, kind, write }: TimeChartProps) {
  const { charts } = useMessages()
  const id = useId()
  const top = computeScale(series, kind === 'bars')
  const texts = labels.map((label, place) => {
    const values = series.map(({ name, values }) => `${name} ${writeOrDash(values[place], write)}`)
    return `${label}: ${values.join(', ')}`
  })
  return (
    <figure className={styles.chart} aria-labelledby={id}>
      <figcaption className={styles.head}>
        <h3 id={id}>{title}</h3>
        <ul className={styles.legend}>
          {series.map(({ name, tone }) => (
            <li key={name} data-tone={tone}>
              {name}
            </li>
          ))}
        </ul>
      </figcaption>
      <Points labelledBy={id} labels={labels} texts={texts}>
        <p className={styles.top} aria-hidden>
          {write(top)}
        </p>
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden className={styles.svg}>
          {kind === 'bars' ? (
            <Bars labels={labels} series={series} top={top} />
          ) : (
            series.map(({ name, tone, values }) => (
              <path key={name} d={buildLine(values, top, WIDTH, HEIGHT)} data-tone={tone} className={styles.line} />
            ))
          )}
        </svg>
      </Points>
      <p className={styles.axis} aria-hidden>
        <span>{labels[0]}</span>
        <span>{labels.at(-1)}</span>
      </p>
      <details className={styles.details}>
        <summary>{charts.asTable(title)}</summary>
        <div className={styles.scroll} tabIndex={0} role="region" aria-label={title}>
          <table className={styles.table}>
            <thead>
              <tr>
                <th scope="col">{charts.time}</th>
                {series.map(({ name }) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {labels.map((label, place) => (
                <tr key={label}>
                  <th scope="row">{label}</th>
                  {series.map(({ name, values }) => (
                    <td key={name}>{writeOrDash(values[place], write)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  )
}

interface PointsProps {
  labelledBy: string
  labels: readonly string[]
  /** What is to be said of each point. */
  texts: readonly string[]
  children: ReactNode
}

/** Says the exact time and values of the point under the pointer or, by arrows, `Home` and `End`, of the focused picture. */
function Points({ labelledBy, labels, texts, children }: PointsProps) {
  const [place, setPlace] = useState<number | null>(null)
  const last = Math.max(0, labels.length - 1)
  const now = Math.min(place ?? last, last)
  const move = (event: KeyboardEvent<HTMLElement>) => {
    if (event.key === 'Escape' && place !== null) {
      // The first press hides what covers the picture; whatever else Escape does comes with the next.
      event.stopPropagation()
      setPlace(null)
      return
    }
    const next = { ArrowLeft: now - 1, ArrowDown: now - 1, ArrowRight: now + 1, ArrowUp: now + 1, Home: 0, End: last }[event.key]
    if (next === undefined) return
    event.preventDefault()
    setPlace(Math.max(0, Math.min(last, next)))
  }
  const point = ({ clientX, currentTarget }: PointerEvent<HTMLElement>) => {
    const { left, width } = currentTarget.getBoundingClientRect()
    setPlace(Math.max(0, Math.min(last, Math.floor(((clientX - left) / Math.max(1, width)) * labels.length))))
  }
  return (
    <div
      className={styles.picture}
      role="slider"
      tabIndex={0}
      aria-labelledby={labelledBy}
      aria-valuemin={0}
      aria-valuemax={last}
      aria-valuenow={now}
      aria-valuetext={texts[now] ?? ''}
      onFocus={() => setPlace(now)}
      onBlur={() => setPlace(null)}
      onKeyDown={move}
      onPointerMove={point}
      onPointerLeave={() => setPlace(null)}
    >
      {children}
      {place !== null && (
        <>
          <span className={styles.mark} aria-hidden style={{ left: `${((now + 0.5) / labels.length) * 100}%` }} />
          <p className={styles.tip} aria-hidden data-end={now > last / 2}>
            {texts[now]}
          </p>
        </>
      )}
    </div>
  )
}

function Bars({ labels, series, top }: Pick<TimeChartProps, 'labels' | 'series'> & { top: number }) {
  const width = WIDTH / Math.max(1, labels.length)
  return labels.map((label, place) => {
    let below = 0
    return (
      <g key={label}>
        {series.map(({ name, tone, values }) => {
          const height = ((values[place] ?? 0) / top) * HEIGHT
          below += height
          return (
            <rect key={name} x={place * width} y={HEIGHT - below} width={width * 0.8} height={height} data-tone={tone} />
          )
        })}
      </g>
    )
  })
}

function writeOrDash(value: number | null | undefined, write: (value: number) => string): string {
  return value === null || value === undefined ? '–' : write(value)
}
