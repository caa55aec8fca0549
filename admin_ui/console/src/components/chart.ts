/** Where the values of a chart lie. */

/** Length of a line of one value. */
const STROKE = 6

interface Values {
  values: readonly (number | null)[]
}

/** The top of the scale: the next 1, 2 or 5 with zeros above the highest value, and 1 where nothing is above 0. */
export function computeScale(series: readonly Values[], isStacked: boolean): number {
  const count = Math.max(0, ...series.map(({ values }) => values.length))
  const at = (place: number) => series.map(({ values }) => values[place] ?? 0)
  const heights = Array.from({ length: count }, (_, place) =>
    isStacked ? at(place).reduce((sum, value) => sum + value, 0) : Math.max(0, ...at(place)),
  )
  const highest = Math.max(0, ...heights)
  if (highest <= 1) return 1
  const power = 10 ** Math.floor(Math.log10(highest))
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= highest)!
}

/** Path of a line; where a value is missing, it is interrupted, and a value alone is a short stroke. */
export function buildLine(values: readonly (number | null)[], top: number, width: number, height: number): string {
  const step = values.length > 1 ? width / (values.length - 1) : 0
  let path = ''
  let joined = false
  values.forEach((value, place) => {
    if (value === null) {
      joined = false
      return
    }
    const point = `${round(place * step)} ${round(height - (value / top) * height)}`
    const isAlone = !joined && (values[place + 1] ?? null) === null
    if (isAlone) path += `M${round(Math.min(place * step, width - STROKE))} ${round(height - (value / top) * height)}h${STROKE}`
    else path += joined ? `L${point}` : `M${point}`
    joined = true
  })
  return path
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
