import { Validator } from '@cfworker/json-schema'
import type { JsonSchema } from './schema.ts'

/** What is wrong with a value, by JSON Pointer of the place (`/filter/state`; '' for the whole). */
export type SchemaErrors = ReadonlyMap<string, string>

const MISSING = /^Instance does not have required property "(.+)"\.$/
/** They only say that something inside is wrong, and it has an error of its own. */
const OF_PARENTS = new Set(['properties', 'additionalProperties', 'items', 'prefixItems', '$ref', 'allOf'])

/** Check a value as the server will again. `texts` are ours; the others are English, of the validator. */
export function validate(schema: JsonSchema, value: unknown, texts: { requiredValue: string; unknown: string }): SchemaErrors {
  const errors = new Map<string, string>()
  const add = (place: string, text: string) => errors.has(place) || errors.set(place, text)
  const hasError = (place: string) => [...errors.keys()].some((one) => one === place || one.startsWith(`${place}/`))
  for (const { instanceLocation, keyword, error } of new Validator(schema as object, '2020-12', false).validate(value).errors) {
    const place = instanceLocation.replace(/^#/, '')
    const missing = keyword === 'required' ? MISSING.exec(error)?.[1] : undefined
    if (missing !== undefined) add(`${place}/${missing}`, texts.requiredValue)
    // Of a known property that is wrong, the validator says afterwards that it is an unknown one, too.
    else if (keyword === 'false' && !hasError(place)) add(place, texts.unknown)
    else if (keyword !== 'false' && !OF_PARENTS.has(keyword)) add(place, error)
  }
  return errors
}
