/** Reads JSON Schema (2020-12, the part that tools use) for people: references, what may be null, names of types. */

export interface JsonSchema {
  $ref?: string
  type?: string | string[]
  title?: string
  description?: string
  default?: unknown
  const?: unknown
  enum?: unknown[]
  format?: string
  pattern?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  properties?: Record<string, JsonSchema>
  required?: string[]
  additionalProperties?: boolean | JsonSchema
  items?: JsonSchema
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  allOf?: JsonSchema[]
  [keyword: string]: unknown
}

export interface Shape {
  /** The schema without references and without the alternative `null`. */
  schema: JsonSchema
  nullable: boolean
}

const MAX_DEPTH = 20

/** Follow references and take the alternative `null` apart. */
export function readShape(schema: JsonSchema, root: JsonSchema): Shape {
  const found = follow(schema, root)
  if (Array.isArray(found.type) && found.type.includes('null')) {
    const types = found.type.filter((type) => type !== 'null')
    return { schema: { ...found, type: types.length === 1 ? types[0]! : types }, nullable: true }
  }
  const alternatives = found.anyOf ?? found.oneOf
  const others = alternatives?.filter((one) => one.type !== 'null')
  if (!alternatives || !others || others.length === alternatives.length) return { schema: found, nullable: false }
  const around = { ...found }
  delete around.anyOf
  delete around.oneOf
  if (others.length > 1) return { schema: { ...around, anyOf: others }, nullable: true }
  return { schema: { ...readShape(others[0] ?? {}, root).schema, ...around }, nullable: true }
}

function follow(schema: JsonSchema, root: JsonSchema, depth = 0): JsonSchema {
  if (typeof schema.$ref !== 'string' || depth > MAX_DEPTH) return schema
  const { $ref, ...around } = schema
  const target = $ref.startsWith('#/') ? lookUp(root, $ref.slice(2).split('/')) : undefined
  return target ? { ...follow(target, root, depth + 1), ...around } : around
}

function lookUp(root: JsonSchema, path: string[]): JsonSchema | undefined {
  let found: unknown = root
  for (const step of path) {
    if (typeof found !== 'object' || found === null) return undefined
    found = (found as Record<string, unknown>)[step.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  return typeof found === 'object' && found !== null ? (found as JsonSchema) : undefined
}

/** Type of a value as it stands in a schema: `string`, `integer[]`, `"open" | "closed"`. */
export function nameType(schema: JsonSchema, root: JsonSchema, depth = 0): string {
  const { schema: shape, nullable } = readShape(schema, root)
  const name = nameOf(shape, root, depth)
  return nullable ? `${name} | null` : name
}

function nameOf(schema: JsonSchema, root: JsonSchema, depth: number): string {
  if (depth > 3) return '…'
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  const alternatives = schema.anyOf ?? schema.oneOf
  if (alternatives) return [...new Set(alternatives.map((one) => nameType(one, root, depth + 1)))].join(' | ')
  if (schema.type === 'array') {
    const item = schema.items ? nameType(schema.items, root, depth + 1) : 'any'
    return item.includes(' ') ? `(${item})[]` : `${item}[]`
  }
  if (Array.isArray(schema.type)) return schema.type.join(' | ')
  const type = schema.type ?? (schema.properties ? 'object' : 'any')
  return schema.format ? `${type} (${schema.format})` : type
}

/** Properties of an object, the required ones first; each with its own schema. */
export function listProperties(schema: JsonSchema): { name: string; schema: JsonSchema; required: boolean }[] {
  const required = new Set(schema.required)
  const all = Object.entries(schema.properties ?? {}).map(([name, own]) => ({ name, schema: own, required: required.has(name) }))
  return [...all.filter((one) => one.required), ...all.filter((one) => !one.required)]
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
