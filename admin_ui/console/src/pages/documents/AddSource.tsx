import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Problem } from '../../api/problems.ts'
import { Checkbox, Field, SelectField } from '../../components/Field.tsx'
import { ModalForm } from '../../components/ModalForm.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useMessages } from '../../messages/index.tsx'
import { CollectionField, OWN } from './CollectionField.tsx'
import styles from './documents.module.css'
import { addSource, collectionsQuery } from './queries.ts'
import {
  buildPlace,
  describePlace,
  isShared,
  readRepository,
  SOURCE_KINDS,
  type SourceFields,
  type SourceKind,
} from './sources.ts'

/** Adds a source. For a collection that others read, nothing is sent before the person agrees to what they will see. */
export function AddSource({ onClose }: { onClose: () => void }) {
  const { sources } = useMessages().documents
  const queries = useQueryClient()
  const navigate = useNavigate({ from: '/documents' })
  const { data: collections = [] } = useQuery(collectionsQuery)
  const [kind, setKind] = useState<SourceKind>('github')
  const [fields, setFields] = useState<SourceFields>({})
  const [collection, setCollection] = useState(OWN)
  // What the person has agreed to, word by word: with another source or collection it is no consent any more.
  const [agreedTo, setAgreedTo] = useState('')
  const place = buildPlace(kind, fields)
  const name = describePlace(place, sources.places)
  const shared = collections.find((one) => one.id === collection && isShared(one))
  const warning = shared ? sources.consent(shared.name, name) : ''
  const hasAgreed = warning !== '' && agreedTo === warning
  const add = async () => {
    if (shared && !hasAgreed) throw new Problem(400, { code: 'consent_missing' })
    const made = await addSource(place, collection, hasAgreed)
    await queries.invalidateQueries({ queryKey: ['documents'] })
    showToast(sources.added(name))
    await navigate({ search: { view: 'sources', id: made.source_id }, replace: true })
  }
  return (
    <ModalForm title={sources.add} submit={sources.add} onClose={onClose} onSubmit={add}>
      <SelectField
        label={sources.kind}
        value={kind}
        onChange={setKind}
        choices={SOURCE_KINDS.map((value) => ({ value, label: sources.kinds[value] }))}
      />
      <PlaceFields kind={kind} fields={fields} onChange={(changed) => setFields({ ...fields, ...changed })} />
      <CollectionField help={sources.collectionHelp} value={collection} onChange={setCollection} />
      {warning && (
        <div className={styles.notice}>
          <p dir="auto">{warning}</p>
          <Checkbox isSelected={hasAgreed} onChange={(ticked) => setAgreedTo(ticked ? warning : '')}>
            {sources.agree}
          </Checkbox>
        </div>
      )}
    </ModalForm>
  )
}

interface PlaceFieldsProps {
  kind: SourceKind
  fields: SourceFields
  onChange: (changed: SourceFields) => void
}

function PlaceFields({ kind, fields, onChange }: PlaceFieldsProps) {
  const { sources } = useMessages().documents
  const bind = (name: keyof SourceFields) => ({
    name,
    value: fields[name] ?? '',
    onChange: (text: string) => onChange({ [name]: text }),
  })
  if (kind === 'notion') return <Field {...bind('title_words')} label={sources.titleWords} help={sources.titleWordsHelp} maxLength={200} />
  if (kind === 'confluence') return <Field {...bind('space')} label={sources.space} help={sources.spaceHelp} maxLength={255} isRequired />
  return (
    <>
      <Field
        {...bind('repository')}
        label={sources.repository}
        help={sources.repositoryHelp}
        maxLength={300}
        isRequired
        validate={(text) => (text === '' || readRepository(text) ? null : sources.repositoryWrong)}
      />
      <Field {...bind('folder')} label={sources.folder} help={sources.folderHelp} maxLength={500} />
      <Field {...bind('ref')} label={sources.ref} help={sources.refHelp} maxLength={200} />
    </>
  )
}
