import { useState } from 'react'
import type { Problem } from '../api/problems.ts'
import { compareVersions, type Conflict, type Difference, isSame, readConflict, type Versioned } from '../api/versions.ts'
import { useMessages } from '../messages/index.tsx'
import { showToast } from './toasts.tsx'
import { useAction } from './useAction.ts'

interface VersionedFormOptions<Body, Values> {
  /** The object as it was read. While nothing is edited, the form shows its newest version. */
  stored: Versioned<Body>
  /** The values of the form that an object has. */
  pick: (body: Body) => Values
  /** Send what was changed; `etag` is the version that it was made of. Whatever shows the object is fetched again. */
  send: (changes: Partial<Values>, etag: string) => Promise<void>
  /** Fetch the object again. */
  refresh: () => Promise<void>
}

/** The two versions of what somebody else has changed meanwhile. */
export interface FormConflict {
  differences: Difference[]
  changedAt: string | null
  changedBy: string
}

export interface VersionedForm<Values> {
  values: Values
  set: <Name extends keyof Values>(name: Name, value: Values[Name]) => void
  isChanged: boolean
  save: () => Promise<void>
  discard: () => void
  busy: boolean
  problem: Problem | null
  conflict: FormConflict | null
  /** Give up what was entered. */
  takeTheirs: () => Promise<void>
  /** Send what was entered in the place of what the other person did. */
  applyMine: () => Promise<void>
}

interface Base<Values> {
  values: Values
  etag: string
}

/**
 * A form that changes an object which somebody else may change at the same time. Where both changed different fields both
 * count; where they changed the same one, the person is shown both (`ConflictNotice`) and decides.
 */
export function useVersionedForm<Body extends object, Values extends object>({
  stored,
  pick,
  send,
  refresh,
}: VersionedFormOptions<Body, Values>): VersionedForm<Values> {
  const { versions } = useMessages()
  const { busy, problem, run } = useAction()
  const [edits, setEdits] = useState<Partial<Values>>({})
  const [editedOf, setEditedOf] = useState<Base<Values> | null>(null)
  const [conflict, setConflict] = useState<Conflict<Values> | null>(null)
  const isChanged = Object.keys(edits).length > 0
  const base = editedOf ?? { values: pick(stored), etag: stored.etag }
  const discard = () => {
    setEdits({})
    setEditedOf(null)
    setConflict(null)
  }
  const set: VersionedForm<Values>['set'] = (name, value) => {
    const next = { ...edits, [name]: value }
    if (isSame(value, base.values[name])) delete next[name]
    setEdits(next)
    setEditedOf(Object.keys(next).length > 0 ? base : null)
  }
  const send_ = async (from: Base<Values>) => {
    try {
      await send(edits, from.etag)
    } catch (error) {
      const met = readConflict(error, pick)
      if (!met) throw error
      if (compareVersions(from.values, edits, met.values).some((one) => one.clashes)) return setConflict(met)
      await send(edits, met.etag)
      showToast(versions.merged)
    }
    discard()
  }
  return {
    values: { ...base.values, ...edits },
    set,
    isChanged,
    save: () => run(() => send_(base)),
    discard,
    busy,
    problem,
    conflict: conflict && {
      differences: compareVersions(base.values, edits, conflict.values),
      changedAt: conflict.changedAt,
      changedBy: conflict.changedBy,
    },
    takeTheirs: () =>
      run(async () => {
        await refresh()
        discard()
      }),
    applyMine: () => run(() => send_(conflict ?? base)),
  }
}
