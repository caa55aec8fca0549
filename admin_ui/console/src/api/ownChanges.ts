/** The requests by which this page has changed something: the event stream tells of them again, seconds later. */

/** More than a page sends until the stream has told of them. */
const MOST_KEPT = 200

const answered = new Map<string, number>()

/** Remember a request whose answer has just come. */
export function rememberChange(requestId: string | null): void {
  if (!requestId) return
  answered.set(requestId, performance.now())
  if (answered.size > MOST_KEPT) answered.delete(answered.keys().next().value!)
}

/** When the answer of a request of this page came; undefined for anybody else's. */
export function findChange(requestId: string): number | undefined {
  return answered.get(requestId)
}
