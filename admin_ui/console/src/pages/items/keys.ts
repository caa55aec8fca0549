/** The type and the number of a key, as tools take them; a type may have hyphens itself: `bug-report-7`. */
export function splitKey(key: string): { type: string; id: string } {
  const place = key.lastIndexOf('-')
  return { type: place > 0 ? key.slice(0, place) : key, id: key.slice(place + 1) }
}

/** What stands on a line each, without blanks and repeats. */
export function readLines(text: string): string[] {
  return [...new Set(text.split('\n').map((line) => line.trim()).filter(Boolean))]
}
