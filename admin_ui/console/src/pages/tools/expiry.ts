const MINUTE_MS = 60_000

/** Whether an access token has less than a minute left: it is being renewed at the moment. */
export function isAboutToEnd(end: string, now = Date.now()): boolean {
  return Date.parse(end) - now < MINUTE_MS
}
