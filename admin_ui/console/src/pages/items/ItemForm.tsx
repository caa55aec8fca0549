import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { Versioned } from '../../api/versions.ts'
import { ConflictNotice } from '../../components/ConflictNotice.tsx'
import { Field, SelectField } from '../../components/Field.tsx'
import { ModalForm } from '../../components/ModalForm.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useVersionedForm } from '../../components/useVersionedForm.ts'
import { useMessages } from '../../messages/index.tsx'
import styles from './items.module.css'
import { readLines } from './keys.ts'
import { createItem, type Item, type ItemFields, PRIORITIES, type Priority, statusesQuery, updateItem } from './queries.ts'

/** What is edited, as its fields hold it. */
interface Values {
  title: string
  description: string
  content: string
  status: string
  priority: Priority
  category: string
  start_date: string
  end_date: string
  version: string
  related: string
  tags: string
}

type Name = keyof Values

const pickValues = (item: Item): Values => ({
  title: item.title,
  description: item.description,
  content: item.content,
  status: item.status,
  priority: item.priority,
  category: item.category ?? '',
  start_date: item.start_date ?? '',
  end_date: item.end_date ?? '',
  version: item.version ?? '',
  related: item.related.join('\n'),
  tags: item.tags.join('\n'),
})

/** As a tool takes what was entered. */
function writeFields({ related, tags, ...texts }: Partial<Values>): ItemFields {
  return {
    ...texts,
    ...(related !== undefined && { related: readLines(related) }),
    ...(tags !== undefined && { tags: readLines(tags) }),
  }
}

interface CreateItemProps {
  workspace: string | undefined
  onClose: () => void
}

export function CreateItem({ workspace, onClose }: CreateItemProps) {
  const { items } = useMessages()
  const queries = useQueryClient()
  const create = async (data: FormData) => {
    const { related = '', tags = '', ...texts } = Object.fromEntries([...data].filter(([, value]) => value !== '')) as Record<string, string>
    const made = await createItem(workspace, { ...(texts as ItemFields), related: readLines(related), tags: readLines(tags) })
    await queries.invalidateQueries({ queryKey: ['items'] })
    showToast(items.created(made.key))
    onClose()
  }
  return (
    <ModalForm title={items.create} submit={items.create} onClose={onClose} onSubmit={create} wide>
      <Field name="type" label={items.fields.type} help={items.help.type} isRequired maxLength={64} />
      <ItemFormFields workspace={workspace} />
    </ModalForm>
  )
}

interface EditItemProps extends CreateItemProps {
  item: Versioned<Item>
}

export function EditItem({ item, workspace, onClose }: EditItemProps) {
  const { common, items } = useMessages()
  const queries = useQueryClient()
  const refresh = () => queries.invalidateQueries({ queryKey: ['items'] })
  const form = useVersionedForm({
    stored: item,
    pick: pickValues,
    refresh,
    send: async (changes, etag) => {
      await updateItem(workspace, item.key, writeFields(changes), Number(etag))
      await refresh()
      showToast(items.saved(item.key))
      onClose()
    },
  })
  return (
    <ModalForm
      title={items.editTitle(item.key)}
      submit={common.save}
      onClose={onClose}
      onSubmit={form.save}
      problem={form.problem}
      conflict={<ConflictNotice form={form} label={(name) => items.fields[name]} somebody={items.somebody} />}
      hasConflict={form.conflict !== null}
      wide
    >
      <ItemFormFields workspace={workspace} values={form.values} onSet={form.set} />
    </ModalForm>
  )
}

interface ItemFormFieldsProps {
  workspace: string | undefined
  /** Without them the fields keep their own, as of a new item. */
  values?: Values
  onSet?: (name: Name, value: never) => void
}

function ItemFormFields({ workspace, values, onSet }: ItemFormFieldsProps) {
  const { items } = useMessages()
  const { fields, help } = items
  const bind = (name: Name) => ({
    name,
    label: fields[name],
    ...(values && { value: values[name] }),
    ...(onSet && { onChange: (value: string) => onSet(name, value as never) }),
  })
  return (
    <>
      <Field {...bind('title')} isRequired maxLength={200} />
      <Field {...bind('description')} long={2} maxLength={1_000} />
      <Field {...bind('content')} help={help.content} long={10} maxLength={102_400} />
      <div className={styles.pair}>
        <StatusField workspace={workspace} {...bind('status')} />
        <SelectField
          {...(bind('priority') as { name: string; label: string; value?: Priority })}
          {...(!values && { defaultValue: 'MEDIUM' as const })}
          choices={PRIORITIES.map((value) => ({ value, label: items.priorities[value] }))}
        />
      </div>
      <Field {...bind('tags')} help={help.tags} long={3} maxLength={6_000} />
      <Field {...bind('related')} help={help.related} long={3} maxLength={8_000} />
      <div className={styles.pair}>
        <Field {...bind('category')} maxLength={100} />
        <Field {...bind('version')} maxLength={100} />
        <Field {...bind('start_date')} help={help.date} maxLength={40} />
        <Field {...bind('end_date')} help={help.date} maxLength={40} />
      </div>
    </>
  )
}

interface StatusFieldProps {
  workspace: string | undefined
  name: string
  label: string
  value?: string
  onChange?: (value: string) => void
}

function StatusField({ workspace, value, ...props }: StatusFieldProps) {
  const { data = [] } = useQuery(statusesQuery(workspace))
  const names = data.map(({ name }) => name)
  const all = value === undefined || names.includes(value) ? names : [value, ...names]
  if (all.length === 0) return null
  return (
    <SelectField
      {...props}
      {...(value === undefined ? { defaultValue: all[0]! } : { value })}
      choices={all.map((name) => ({ value: name, label: name }))}
    />
  )
}
