/** Server-sent events of the admin API (decision 64), read by `fetch`: it shows the status of an answer and ends cleanly. */

/** A resource of the API has changed. It is a hint and no data: whoever shows it asks the API again. */
export interface Hint {
  resource: string
  /** Kind of the audit event, such as `call.outcome`; empty where the reader may not know. */
  kind: string
  object_id: string
  /** The request that has done it, where it was one of this person's own. */
  request_id: string
}

export interface StreamEvent {
  /** Number in the tenant's chain, from which a later stream goes on; empty where none came. */
  id: string
  name: string
  data: string
}

/** Longest event that is waited for; ours have a few hundred characters. */
const MAX_LENGTH = 100_000

/** Cuts a stream of text into events, however it arrives. Comments and what is not understood fall away. */
export class EventParser {
  private rest = ''

  /**
   * Take the next piece and give the events that are whole.
   * @throws {Error} an event is longer than any of ours.
   */
  feed(piece: string): StreamEvent[] {
    this.rest += piece.replaceAll('\r', '')
    const blocks = this.rest.split('\n\n')
    this.rest = blocks.pop() ?? ''
    if (this.rest.length > MAX_LENGTH) throw new Error('an event is too long')
    return blocks.map(readBlock).filter((event) => event.name !== '')
  }
}

function readBlock(block: string): StreamEvent {
  const event: StreamEvent = { id: '', name: '', data: '' }
  for (const line of block.split('\n')) {
    const [, field, value] = /^(id|event|data): ?(.*)$/.exec(line) ?? []
    if (field === 'id') event.id = value!
    if (field === 'event') event.name = value!
    if (field === 'data') event.data += value!
  }
  return event
}

/** The hint of a `change`, null for anything else. */
export function readHint(event: StreamEvent): Hint | null {
  if (event.name !== 'change') return null
  try {
    const { resource, kind = '', object_id = '', request_id = '' } = JSON.parse(event.data) as Partial<Hint>
    return typeof resource === 'string' ? { resource, kind, object_id, request_id } : null
  } catch {
    return null
  }
}

const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000

/** How long to wait before the next attempt, after so many failures in turn; `spread` is from 0 to 1. */
export function computePause(failures: number, spread: number): number {
  const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures)
  return longest / 2 + (longest / 2) * spread
}
