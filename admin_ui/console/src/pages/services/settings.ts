import type { SchemaTenantServiceDetails } from '../../api/schema.d.ts'
import type { Language } from '../../messages/index.tsx'
import { isObject, type JsonSchema } from '../../schema/schema.ts'
import type { SchemaErrors } from '../../schema/validate.ts'

/** Settings by name; null is the default. */
export type Settings = Record<string, unknown>

/** The schema with the titles and descriptions of a language (`x-translations`), in English where it has none. */
export function localizeSchema(schema: JsonSchema, language: Language): JsonSchema {
  const properties = Object.entries(schema.properties ?? {}).map(([name, own]) => {
    const texts = isObject(own['x-translations']) ? own['x-translations'][language] : undefined
    return [name, isObject(texts) ? { ...own, ...texts } : own]
  })
  return { ...schema, properties: Object.fromEntries(properties) as Record<string, JsonSchema> }
}

/** All settings that a service has, as its form edits them. */
export function readSettings({ settings, settings_schema }: SchemaTenantServiceDetails): Settings {
  const names = Object.keys((settings_schema as JsonSchema).properties ?? {})
  return Object.fromEntries(names.map((name) => [name, settings[name] ?? null]))
}

export function dropUnset(settings: Settings): Settings {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null))
}

/** Errors of the API (`settings.timeout`) by the place in the form (`/timeout`). */
export function readApiErrors(fields: Readonly<Record<string, string>>): SchemaErrors {
  const found = Object.entries(fields).filter(([field]) => field.startsWith('settings.'))
  return new Map(found.map(([field, problem]) => [`/${field.slice('settings.'.length).replaceAll('.', '/')}`, problem]))
}
