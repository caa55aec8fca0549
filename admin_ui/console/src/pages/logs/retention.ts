/** The months of a field; null where it is empty: the default counts. */
export function readMonths(text: string | undefined): number | null {
  const trimmed = (text ?? '').trim()
  return trimmed === '' ? null : Number(trimmed)
}

/** Whether less is kept with so many months than now; null keeps everything. */
export function isShorter(months: number, now: number | null): boolean {
  return now === null || months < now
}
