import { useQuery } from '@tanstack/react-query'
import { SelectField } from '../../components/Field.tsx'
import { useMessages } from '../../messages/index.tsx'
import { collectionsQuery, type StoredCollection } from './queries.ts'
import { isShared } from './sources.ts'

/** The caller's own, which need not exist yet. */
export const OWN = 'documents'

const isOwn = (one: StoredCollection) => one.name === OWN && !isShared(one)

interface CollectionFieldProps {
  help: string
  value?: string
  onChange?: (collection: string) => void
}

/** One of the collections that the person may write to, by id, or their own; nothing where there are no others. */
export function CollectionField({ help, value, onChange }: CollectionFieldProps) {
  const { form } = useMessages().documents
  const { data = [] } = useQuery(collectionsQuery)
  const nameCollection = useCollectionName()
  const others = data.filter((one) => one.can_write && !isOwn(one))
  if (others.length === 0) return null
  return (
    <SelectField
      name="collection"
      label={form.collection}
      help={help}
      {...(value === undefined ? { defaultValue: OWN } : { value })}
      {...(onChange && { onChange })}
      choices={[{ value: OWN, label: form.own }, ...others.map((one) => ({ value: one.id, label: nameCollection(one) }))]}
    />
  )
}

const ALL = 'all'

interface CollectionFilterProps {
  value: string | undefined
  onChange: (collection: string | undefined) => void
}

/** Narrows the documents to those of one collection; nothing where there is one alone. */
export function CollectionFilter({ value, onChange }: CollectionFilterProps) {
  const { documents } = useMessages()
  const { data = [] } = useQuery(collectionsQuery)
  const nameCollection = useCollectionName()
  if (data.length < 2 && !value) return null
  const isKnown = data.some((one) => one.id === value)
  return (
    <SelectField
      label={documents.form.collection}
      hideLabel
      value={value !== undefined && isKnown ? value : ALL}
      choices={[
        { value: ALL, label: documents.allCollections },
        ...data.map((one) => ({ value: one.id, label: nameCollection(one) })),
      ]}
      onChange={(chosen) => onChange(chosen === ALL ? undefined : chosen)}
    />
  )
}

function useCollectionName(): (collection: StoredCollection) => string {
  const { form } = useMessages().documents
  return (one) => {
    if (isShared(one)) return form.shared(one.name)
    return isOwn(one) ? form.own : one.name
  }
}
