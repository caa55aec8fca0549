import { useFormat, useMessages } from '../../messages/index.tsx'
import { type DayScale, isChangeDay } from './days.ts'
import type { ShownEntry } from './entries.ts'

/** Writes when an entry was; with offsets on a day on which the clock is changed. */
export function useEntryTime(): (one: ShownEntry, scale: DayScale) => string {
  const { activity } = useMessages()
  const format = useFormat()
  return (one, scale) => {
    if (one.isAllDay) return activity.allDay
    const clock = (time: number) => format.clock(time, scale.timeZone, isChangeDay(scale))
    return `${clock(one.start)}–${one.isRunning ? activity.running : clock(one.end)}`
  }
}
