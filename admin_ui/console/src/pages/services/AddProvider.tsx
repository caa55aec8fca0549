import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaProviderDraftView } from '../../api/schema.d.ts'
import { Field } from '../../components/Field.tsx'
import { ModalForm } from '../../components/ModalForm.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useFormat, useMessages } from '../../messages/index.tsx'
import { JsonField } from '../../schema/JsonField.tsx'
import { isObject } from '../../schema/schema.ts'

/** Adds a provider: its server is asked what it says of itself, and that is looked at before it is stored. */
export function AddProvider({ onClose }: { onClose: () => void }) {
  const { providers } = useMessages().services
  const format = useFormat()
  const queries = useQueryClient()
  const navigate = useNavigate({ from: '/services' })
  const [draft, setDraft] = useState<SchemaProviderDraftView | null>(null)
  const [document, setDocument] = useState<unknown>({})
  const discover = async (data: FormData) => {
    const body = { url: String(data.get('url')).trim(), resource: '', title: '', modules: [] }
    const found = await read(api.POST('/api/v1/providers/discover', { body }))
    setDocument(found.document)
    setDraft(found)
  }
  const add = async (data: FormData) => {
    if (!isObject(document)) return
    const id = String(data.get('id')).trim()
    await read(api.PUT('/api/v1/providers/{provider_id}', { params: { path: { provider_id: id } }, body: { document } }))
    await queries.invalidateQueries({ queryKey: ['providers'] })
    showToast(providers.added(id))
    await navigate({ search: { view: 'providers', id }, replace: true })
  }
  return (
    <ModalForm
      title={providers.add}
      submit={draft ? providers.save : providers.discover}
      onClose={onClose}
      onSubmit={draft ? add : discover}
    >
      {draft ? (
        <>
          {/* Without keys this would be the field of the address, with what was typed there. */}
          <Field
            key="id"
            name="id"
            label={providers.id}
            help={providers.idHelp}
            defaultValue={draft.id}
            isRequired
            autoFocus
            maxLength={40}
          />
          <JsonField label={providers.document} help={providers.documentHelp} value={document} onChange={setDocument} isRequired />
          {draft.scopes.length > 0 && (
            <p>
              {providers.scopes}: {format.list(draft.scopes)}
            </p>
          )}
        </>
      ) : (
        <Field key="url" name="url" type="url" label={providers.address} help={providers.addressHelp} isRequired autoFocus maxLength={1000} />
      )}
    </ModalForm>
  )
}
