/** The query string of a page: what a person sees is in it. Values stay text, as they stand in the address. */

export type Query = Record<string, unknown>

export function parseSearch(text: string): Query {
  return Object.fromEntries(new URLSearchParams(text))
}

export function stringifySearch(search: Query): string {
  const pairs = Object.entries(search).filter(([, value]) => value !== undefined && value !== null && value !== '')
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString()
  return text ? `?${text}` : ''
}

const MAX_LENGTH = 200

/** A text, undefined where there is none; what is too long for any of ours falls away. */
export function readText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= MAX_LENGTH ? value : undefined
}

/** One of these values, else undefined. */
export function readOneOf<Value extends string>(value: unknown, values: readonly Value[]): Value | undefined {
  return values.find((known) => known === value)
}

export interface Sort<Key extends string> {
  key: Key
  descending: boolean
}

/** `name` or `-name`. */
export function readSort<Key extends string>(value: unknown, keys: readonly Key[]): Sort<Key> | undefined {
  if (typeof value !== 'string') return undefined
  const descending = value.startsWith('-')
  const key = readOneOf(descending ? value.slice(1) : value, keys)
  return key && { key, descending }
}

export function writeSort(sort: Sort<string> | undefined): string | undefined {
  return sort && (sort.descending ? `-${sort.key}` : sort.key)
}
