import { Plus, X } from 'lucide-react'
import { Button, IconButton } from '../components/Button.tsx'
import { Checkbox, Field, SelectField } from '../components/Field.tsx'
import { useMessages } from '../messages/index.tsx'
import { JsonField } from './JsonField.tsx'
import { isObject, type JsonSchema, listProperties, nameType, readShape } from './schema.ts'
import styles from './SchemaForm.module.css'
import type { SchemaErrors } from './validate.ts'

const MAX_DEPTH = 4
const UNSET = ' unset'
/** A text that may be longer gets more than one line. */
const LONG_TEXT = 4000

interface NodeProps {
  label: string
  schema: JsonSchema
  root: JsonSchema
  value: unknown
  onChange: (value: unknown) => void
  required: boolean
  errors: SchemaErrors
  /** JSON Pointer of the value. */
  place: string
  depth: number
}

interface SchemaFormProps {
  schema: JsonSchema
  value: Record<string, unknown>
  onChange: (value: Record<string, unknown>) => void
  errors: SchemaErrors
  /** Fields are called by their `title`: for people, where names are for programs. */
  titled?: boolean
}

/** A form for an object that a JSON Schema describes. What it cannot draw becomes a JSON field. */
export function SchemaForm({ schema, value, onChange, errors, titled = false }: SchemaFormProps) {
  const { schemas } = useMessages()
  if (listProperties(schema).length === 0) return <p className={styles.none}>{schemas.noParameters}</p>
  return <Properties schema={schema} root={schema} value={value} onChange={onChange} errors={errors} place="" depth={0} titled={titled} />
}

type PropertiesProps = Omit<NodeProps, 'label' | 'required' | 'onChange' | 'value'> & {
  value: Record<string, unknown>
  onChange: (value: Record<string, unknown>) => void
  titled?: boolean
}

function Properties({ schema, root, value, onChange, errors, place, depth, titled = false }: PropertiesProps) {
  return (
    <div className={styles.fields}>
      {listProperties(schema).map(({ name, schema: own, required }) => (
        <SchemaNode
          key={name}
          label={(titled && own.title) || name}
          schema={own}
          root={root}
          value={value[name]}
          onChange={(next) => onChange(withProperty(value, name, next))}
          required={required}
          errors={errors}
          place={`${place}/${name}`}
          depth={depth}
        />
      ))}
    </div>
  )
}

/** The object with another value of a property; without it where the value is undefined. */
function withProperty(value: Record<string, unknown>, name: string, next: unknown): Record<string, unknown> {
  const changed = { ...value, [name]: next }
  if (next === undefined) delete changed[name]
  return changed
}

function SchemaNode(props: NodeProps) {
  const { schema: shape } = readShape(props.schema, props.root)
  const inner = { ...props, schema: shape }
  if ('const' in shape || shape.enum) return <ChoiceNode {...inner} />
  if (shape.type === 'boolean') return <BooleanNode {...inner} />
  if (shape.type === 'string' || shape.type === 'integer' || shape.type === 'number') return <TextNode {...inner} />
  if (props.depth < MAX_DEPTH && shape.type === 'array' && shape.items) return <ArrayNode {...inner} />
  if (props.depth < MAX_DEPTH && shape.properties) return <ObjectNode {...inner} />
  return <JsonNode {...inner} />
}

function ChoiceNode({ label, schema, value, onChange, required, errors, place }: NodeProps) {
  const { schemas } = useMessages()
  const values = 'const' in schema ? [schema.const] : schema.enum!
  const choices = values.map((one) => ({ value: JSON.stringify(one), label: typeof one === 'string' ? one : JSON.stringify(one) }))
  return (
    <div>
      <SelectField
        label={label}
        isRequired={required}
        value={value === undefined ? UNSET : JSON.stringify(value)}
        choices={[{ value: UNSET, label: schemas.unset }, ...choices]}
        onChange={(next) => onChange(next === UNSET ? undefined : JSON.parse(next))}
        {...(schema.description && { help: schema.description })}
      />
      <NodeError error={errors.get(place)} />
    </div>
  )
}

function BooleanNode({ label, schema, value, onChange, required, errors, place }: NodeProps) {
  const { schemas } = useMessages()
  const state = value === undefined ? UNSET : String(value)
  return (
    <div>
      {required ? (
        <Checkbox isSelected={value === true} onChange={onChange}>
          {label}
        </Checkbox>
      ) : (
        <SelectField
          label={label}
          value={state}
          choices={[UNSET, 'true', 'false'].map((one) => ({ value: one, label: one === UNSET ? schemas.unset : one }))}
          onChange={(next) => onChange(next === UNSET ? undefined : next === 'true')}
          {...(schema.description && { help: schema.description })}
        />
      )}
      <NodeError error={errors.get(place)} />
    </div>
  )
}

function TextNode({ label, schema, value, onChange, required, errors, place }: NodeProps) {
  const isNumber = schema.type !== 'string'
  const read = (text: string) => {
    if (text === '') return undefined
    // What is no number stays a text, which the validator refuses.
    return isNumber && Number.isFinite(Number(text)) ? Number(text) : text
  }
  const error = errors.get(place)
  return (
    <div>
      <Field
        label={label}
        value={value === undefined || value === null ? '' : String(value)}
        onChange={(text) => onChange(read(text))}
        isRequired={required}
        isInvalid={error !== undefined}
        long={!isNumber && (schema.maxLength ?? 0) > LONG_TEXT}
        {...(isNumber && { inputMode: 'decimal' })}
        {...(schema.description && { help: schema.description })}
        {...(schema.default != null && { placeholder: String(schema.default) })}
      />
      <NodeError error={error} />
    </div>
  )
}

function ArrayNode({ label, schema, root, value, onChange, errors, place, depth }: NodeProps) {
  const { schemas } = useMessages()
  const items = Array.isArray(value) ? value : []
  const change = (next: unknown[]) => onChange(next.length === 0 ? undefined : next)
  return (
    <fieldset className={styles.group}>
      <legend>
        <code>{label}</code> <span className={styles.type}>{nameType(schema, root)}</span>
      </legend>
      {schema.description && (
        <p lang="en" className={styles.help}>
          {schema.description}
        </p>
      )}
      {items.map((item, index) => (
        <div key={index} className={styles.item}>
          <SchemaNode
            label={`${label} ${index + 1}`}
            schema={schema.items!}
            root={root}
            value={item}
            onChange={(next) => change(items.map((one, at) => (at === index ? (next ?? '') : one)))}
            required
            errors={errors}
            place={`${place}/${index}`}
            depth={depth + 1}
          />
          <IconButton
            icon={X}
            label={schemas.removeItem(`${label} ${index + 1}`)}
            onPress={() => change(items.filter((_, at) => at !== index))}
          />
        </div>
      ))}
      <Button icon={Plus} aria-label={schemas.addTo(label)} onPress={() => change([...items, startOf(schema.items!, root)])}>
        {schemas.add}
      </Button>
      <NodeError error={errors.get(place)} />
    </fieldset>
  )
}

function ObjectNode({ label, schema, root, value, onChange, required, errors, place, depth }: NodeProps) {
  const { schemas } = useMessages()
  const present = required || value !== undefined
  return (
    <fieldset className={styles.group}>
      <legend>
        <code>{label}</code>
      </legend>
      {present ? (
        <Properties
          schema={schema}
          root={root}
          value={isObject(value) ? value : {}}
          onChange={onChange}
          errors={errors}
          place={place}
          depth={depth + 1}
        />
      ) : (
        <Button icon={Plus} aria-label={schemas.addTo(label)} onPress={() => onChange({})}>
          {schemas.add}
        </Button>
      )}
      {present && !required && (
        <Button aria-label={schemas.removeItem(label)} onPress={() => onChange(undefined)}>
          {schemas.remove}
        </Button>
      )}
      <NodeError error={errors.get(place)} />
    </fieldset>
  )
}

function JsonNode({ label, schema, root, value, onChange, required, errors, place }: NodeProps) {
  return (
    <div>
      <JsonField
        label={`${label} (${nameType(schema, root)})`}
        value={value}
        onChange={onChange}
        isRequired={required}
        {...(schema.description && { help: schema.description })}
      />
      <NodeError error={errors.get(place)} />
    </div>
  )
}

function NodeError({ error }: { error: string | undefined }) {
  if (error === undefined) return null
  return (
    <p role="alert" className={styles.error}>
      {error}
    </p>
  )
}

/** What a new item begins with. */
function startOf(schema: JsonSchema, root: JsonSchema): unknown {
  const { schema: shape } = readShape(schema, root)
  if (shape.enum) return shape.enum[0]
  if (shape.properties) return {}
  return shape.type === 'boolean' ? false : ''
}
