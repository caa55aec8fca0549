import { useId } from 'react'
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
      <div className={styles.picture}>
        <p className={styles.top} aria-hidden>
          {write(top)}
        </p>
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden className={styles.svg}>
          {kind === 'bars' ? (
            <Bars labels={labels} series={series} top={top} write={write} />
          ) : (
            series.map(({ name, tone, values }) => (
              <path key={name} d={buildLine(values, top, WIDTH, HEIGHT)} data-tone={tone} className={styles.line} />
            ))
          )}
        </svg>
      </div>
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

function Bars({ labels, series, top, write }: Pick<TimeChartProps, 'labels' | 'series' | 'write'> & { top: number }) {
  const width = WIDTH / Math.max(1, labels.length)
  return labels.map((label, place) => {
    const text = series.map(({ name, values }) => `${name} ${writeOrDash(values[place], write)}`).join(', ')
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
        <rect x={place * width} y={0} width={width} height={HEIGHT} className={styles.target}>
          <title>{`${label}: ${text}`}</title>
        </rect>
      </g>
    )
  })
}

function writeOrDash(value: number | null | undefined, write: (value: number) => string): string {
  return value === null || value === undefined ? '–' : write(value)
}
