/** Sources of documents: their fields, what they are called, and whether people have to agree to one. */
import type { Tone } from '../../components/StatusBadge.tsx'
import type { Messages } from '../../messages/index.tsx'

export const SOURCE_KINDS = ['github', 'notion', 'confluence'] as const
export type SourceKind = (typeof SOURCE_KINDS)[number]

/** Where documents are, as the tools have it; `kind` is the module whose account reads them. */
export interface SourcePlace {
  kind: SourceKind
  repository?: string
  ref?: string
  folder?: string
  title_words?: string
  space?: string
}

export interface SyncReport {
  at: string
  added: number
  updated: number
  unchanged: number
  removed: number
  /** `skipped` has the first of so many. */
  skipped_count: number
  skipped: { file_path: string; reason: string }[]
  /** What the source has no more was removed. */
  is_complete: boolean
}

type FieldName = Exclude<keyof SourcePlace, 'kind'>
export type SourceFields = Partial<Record<FieldName, string>>

const FIELDS: Record<SourceKind, readonly FieldName[]> = {
  github: ['repository', 'ref', 'folder'],
  notion: ['title_words'],
  confluence: ['space'],
}
const REPOSITORY = /^(?:https?:\/\/[^/]+\/)?([\w.-]{1,100}\/[\w.-]{1,100}?)(?:\.git)?\/?$/

/** `owner/name` of what was typed, or of a repository's address; null where it is neither. */
export function readRepository(text: string): string | null {
  return REPOSITORY.exec(text.trim())?.[1] ?? null
}

/** The place that a form describes: the fields of its kind that hold something. */
export function buildPlace(kind: SourceKind, fields: SourceFields): SourcePlace {
  const filled = FIELDS[kind].map((name) => [name, (fields[name] ?? '').trim()] as const).filter(([, value]) => value !== '')
  const place: SourcePlace = { kind, ...Object.fromEntries(filled) }
  const repository = place.repository === undefined ? null : readRepository(place.repository)
  return repository === null ? place : { ...place, repository }
}

/** What a source is called. */
export function describePlace(place: SourcePlace, names: Messages['documents']['sources']['places']): string {
  if (place.kind === 'github') return names.github(place.repository ?? '', place.folder ?? '')
  if (place.kind === 'notion') return names.notion(place.title_words ?? '')
  return names.confluence(place.space ?? '')
}

/** Whether others read the collection, so that the person has to agree to what they will see. */
export function isShared({ owner }: { owner: 'user' | 'role' | 'tenant' }): boolean {
  return owner !== 'user'
}

export type SourceState = 'never' | 'partial' | 'synced'

/** How the last run has ended. */
export function findSourceState(report: SyncReport | null | undefined): SourceState {
  if (!report) return 'never'
  return report.skipped_count > 0 || !report.is_complete ? 'partial' : 'synced'
}

export const SOURCE_TONES: Record<SourceState, Tone> = { never: 'none', partial: 'warn', synced: 'ok' }
