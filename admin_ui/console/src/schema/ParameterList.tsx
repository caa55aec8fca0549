import { useMessages } from '../messages/index.tsx'
import { type JsonSchema, listProperties, nameType, readShape } from './schema.ts'
import styles from './ParameterList.module.css'

const MAX_DEPTH = 3

/** Parameters or results of a tool as its JSON Schema describes them. */
export function ParameterList({ schema, root = schema, depth = 0 }: { schema: JsonSchema; root?: JsonSchema; depth?: number }) {
  const { schemas } = useMessages()
  const properties = listProperties(readShape(schema, root).schema)
  if (properties.length === 0) return depth === 0 ? <p className={styles.none}>{schemas.noParameters}</p> : null
  return (
    <ul className={styles.list}>
      {properties.map(({ name, schema: own, required }) => {
        const { schema: shape } = readShape(own, root)
        const inner = findObject(shape, root)
        return (
          <li key={name}>
            <p className={styles.head}>
              <code className={styles.name}>{name}</code>
              <code className={styles.type}>{nameType(own, root)}</code>
              {required && <span className={styles.required}>{schemas.required}</span>}
            </p>
            {shape.description && (
              <p lang="en" dir="auto" className={styles.about}>
                {shape.description}
              </p>
            )}
            {shape.default !== undefined && shape.default !== null && (
              <p className={styles.about}>{schemas.defaultValue(JSON.stringify(shape.default))}</p>
            )}
            {inner && depth < MAX_DEPTH && <ParameterList schema={inner} root={root} depth={depth + 1} />}
          </li>
        )
      })}
    </ul>
  )
}

/** The object inside: of the value itself, or of each item of an array. */
function findObject(shape: JsonSchema, root: JsonSchema): JsonSchema | undefined {
  const inner = shape.type === 'array' && shape.items ? readShape(shape.items, root).schema : shape
  return inner.properties ? inner : undefined
}
