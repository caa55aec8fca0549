import { Problem } from './problems.ts'

/** An object with the version of it that was read (`ETag`). */
export type Versioned<Body> = Body & { readonly etag: string }

/** The header of a change that expects the version which was read. */
export function expect(etag: string): { 'if-match'?: string } {
  return etag ? { 'if-match': etag } : {}
}

/** What somebody else has made of an object since it was read. */
export interface Conflict<Values> {
  values: Values
  etag: string
  changedAt: string | null
  changedBy: string
}

/** The conflict that a refused change has met; null where it was refused for another reason. */
export function readConflict<Body extends object, Values>(error: unknown, pick: (body: Body) => Values): Conflict<Values> | null {
  const current = error instanceof Problem ? error.current : null
  if (!current?.state) return null
  const { etag, changed_at: changedAt, changed_by: changedBy, state } = current
  return { values: pick(state as Body), etag, changedAt, changedBy }
}

/**
 * Send a change that is right whatever stands there, such as `{ add, remove }`: on the present version where the one that
 * was read is out of date.
 * @returns the answer, and whether somebody else had changed the object.
 */
export async function sendMerging<Result>(
  etag: string,
  send: (etag: string) => Promise<Result>,
): Promise<{ result: Result; merged: boolean }> {
  try {
    return { result: await send(etag), merged: false }
  } catch (error) {
    const conflict = readConflict(error, (body) => body)
    if (!conflict) throw error
    return { result: await send(conflict.etag), merged: true }
  }
}

export interface Difference<Name extends string = string> {
  name: Name
  theirs: unknown
  /** What one has entered oneself; equal to `theirs` where there is nothing to decide. */
  mine: unknown
  /** Both have changed the field, to different values. */
  clashes: boolean
}

/** The fields that somebody else has changed since `base` was read, each beside what one has entered oneself. */
export function compareVersions<Values extends object>(
  base: Values,
  edits: Partial<Values>,
  theirs: Values,
): Difference<keyof Values & string>[] {
  const names = Object.keys(theirs) as (keyof Values & string)[]
  return names
    .filter((name) => !isSame(base[name], theirs[name]))
    .map((name) => {
      const mine = name in edits ? edits[name] : theirs[name]
      return { name, theirs: theirs[name], mine, clashes: !isSame(mine, theirs[name]) }
    })
}

/** Whether two values of a form are the same; they come as JSON. */
export function isSame(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right)
}
