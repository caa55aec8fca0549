/** Numbers and times in the language of the interface; the only file that may use Intl. */

export type Language = 'en' | 'ja'

const LOCALES: Record<Language, string> = { en: 'en-GB', ja: 'ja-JP' }
const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
]

const DAY_MS = 86_400_000

/** Time zone of the person's profile, the browser's without one. */
let zone: string | undefined

export function setTimeZone(name: string | undefined): void {
  zone = name
}

/** The zone in which times are shown. */
export function getTimeZone(): string {
  return zone ?? getBrowserTimeZone()
}

/** What a clock in a zone shows, as a field for date and time has it: `2026-12-31T09:00`. */
export function formatWallClock(time: string, timeZone: string): string {
  const shown = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short', timeZone }).format(new Date(time))
  return shown.replace(' ', 'T')
}

/** The day on which a clock in a zone is: `2026-12-31`. */
export function findDay(time: number | string | Date, timeZone: string): string {
  return getDayFormat(timeZone).format(new Date(time))
}

/** What a clock in a zone shows: `09:30`; with the zone's offset where a time of the day comes twice. */
export function formatClock(language: Language, time: number | string, timeZone: string, withOffset = false): string {
  const options: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone }
  if (withOffset) options.timeZoneName = 'shortOffset'
  return new Intl.DateTimeFormat(LOCALES[language], options).format(new Date(time))
}

/** A day of the calendar, `2026-11-23`, with its day of the week: `Mon 23 Nov`. */
export function formatDay(language: Language, day: string, length: 'short' | 'long' = 'short'): string {
  const options: Intl.DateTimeFormatOptions =
    length === 'short'
      ? { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' }
      : { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' }
  return new Intl.DateTimeFormat(LOCALES[language], options).format(new Date(day))
}

/** A zone with how far it is from UTC at a time: `Asia/Tokyo (GMT+9)`. */
export function formatZone(language: Language, timeZone: string, time: number): string {
  const parts = new Intl.DateTimeFormat(LOCALES[language], { timeZone, timeZoneName: 'shortOffset' }).formatToParts(time)
  const offset = parts.find((part) => part.type === 'timeZoneName')?.value ?? ''
  return offset && timeZone !== 'UTC' ? `${timeZone} (${offset})` : timeZone
}

/** Whether the browser knows a time zone of this name. */
export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en-GB', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

const dayFormats = new Map<string, Intl.DateTimeFormat>()
const partFormats = new Map<string, Intl.DateTimeFormat>()

/** Formats are made once: one costs more than a hundred of its uses. */
function getDayFormat(timeZone: string): Intl.DateTimeFormat {
  const known = dayFormats.get(timeZone) ?? new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeZone })
  dayFormats.set(timeZone, known)
  return known
}

function getPartFormat(timeZone: string): Intl.DateTimeFormat {
  const options: Intl.DateTimeFormatOptions = {
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
    timeZone,
  }
  const known = partFormats.get(timeZone) ?? new Intl.DateTimeFormat('en-GB', options)
  partFormats.set(timeZone, known)
  return known
}

export function getBrowserTimeZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone
}

/** All IANA time zones that the browser knows, and this one. */
export function listTimeZones(also: string | null): string[] {
  return [...new Set([...(also ? [also] : []), 'UTC', ...Intl.supportedValuesOf('timeZone')])].sort()
}

export function formatNumber(language: Language, value: number): string {
  return new Intl.NumberFormat(LOCALES[language]).format(value)
}

/** `40%`. */
export function formatPercent(language: Language, share: number): string {
  return new Intl.NumberFormat(LOCALES[language], { style: 'percent' }).format(share)
}

export function formatDate(language: Language, time: string | Date): string {
  return new Intl.DateTimeFormat(LOCALES[language], { dateStyle: 'medium', timeZone: zone }).format(new Date(time))
}

/** The exact time with its zone, for hovering. */
export function formatExactTime(language: Language, time: string | Date): string {
  const options: Intl.DateTimeFormatOptions = { dateStyle: 'full', timeStyle: 'long', timeZone: zone }
  return new Intl.DateTimeFormat(LOCALES[language], options).format(new Date(time))
}

/** Date and time to the second, as a log shows it. */
export function formatLogTime(language: Language, time: string | Date): string {
  return new Intl.DateTimeFormat(LOCALES[language], { dateStyle: 'short', timeStyle: 'medium', timeZone: zone }).format(
    new Date(time),
  )
}

/** Day and hour, as a chart shows it. */
export function formatHour(language: Language, time: string | Date): string {
  const options: Intl.DateTimeFormatOptions = { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', timeZone: zone }
  return new Intl.DateTimeFormat(LOCALES[language], options).format(new Date(time))
}

/** When a day, `2026-11-24`, begins in the person's time zone; `later` days after it. */
export function startOfDay(day: string, later = 0): Date {
  const midnight = Date.parse(day) + later * DAY_MS
  // The offset of that time in UTC may be another than that of the midnight meant: once more with what came out.
  const guess = midnight - readOffset(midnight)
  return new Date(midnight - readOffset(guess))
}

/** Milliseconds by which a time zone, the person's without a name, is ahead of UTC at that time. */
export function readOffset(time: number, timeZone: string = getTimeZone()): number {
  const parts = getPartFormat(timeZone).formatToParts(time)
  const read = (type: Intl.DateTimeFormatPartTypes) => Number(parts.find((part) => part.type === type)?.value)
  const local = Date.UTC(read('year'), read('month') - 1, read('day'), read('hour'), read('minute'), read('second'))
  return local - (time - (time % 1000))
}

/** How long ago, or in how long: `3 days ago`. */
export function formatRelativeTime(language: Language, time: string | Date, now: Date): string {
  const seconds = (new Date(time).getTime() - now.getTime()) / 1000
  const format = new Intl.RelativeTimeFormat(LOCALES[language], { numeric: 'auto' })
  for (const [unit, length] of UNITS) {
    if (Math.abs(seconds) >= length) return format.format(Math.trunc(seconds / length), unit)
  }
  return format.format(0, 'second')
}

export function formatList(language: Language, items: string[]): string {
  return new Intl.ListFormat(LOCALES[language], { type: 'conjunction' }).format(items)
}

/** Compares two texts as people of that language order them. */
export function compareTexts(language: Language, left: string, right: string): number {
  return new Intl.Collator(LOCALES[language], { numeric: true }).compare(left, right)
}

/** `1 role`, `2 roles`: for English texts; Japanese has one form. */
export function countOf(value: number, one: string, other: string): string {
  return `${formatNumber('en', value)} ${new Intl.PluralRules('en').select(value) === 'one' ? one : other}`
}
