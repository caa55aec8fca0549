import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, read, readVersioned } from '../../api/client.ts'
import { Problem } from '../../api/problems.ts'
import type { SchemaIdentityProviderView } from '../../api/schema.d.ts'
import { expect, type Versioned } from '../../api/versions.ts'
import { CopyField } from '../../components/CopyField.tsx'
import { Field, SelectField } from '../../components/Field.tsx'
import { showToast } from '../../components/toasts.tsx'
import { TrialForm } from '../../components/TrialForm.tsx'
import { useVersionedForm } from '../../components/useVersionedForm.ts'
import { useMessages } from '../../messages/index.tsx'
import {
  buildBody,
  goesElsewhere,
  hasField,
  isRequired,
  KINDS,
  NO_VALUES,
  pickValues,
  type ProviderValues,
} from './providerValues.ts'
import { ProviderSteps } from './ProviderSteps.tsx'

/** Nothing is stored under the identifier. */
const NEW: Versioned<ProviderValues> = { ...NO_VALUES, etag: '"v0"' }

interface ProviderFormProps {
  /** The stored provider; undefined for a new one. */
  provider?: Versioned<SchemaIdentityProviderView>
  onSaved: (id: string) => void
}

/** Makes or changes an identity provider. The secret goes in and never comes out. */
export function ProviderForm({ provider, onSaved }: ProviderFormProps) {
  const { identity } = useMessages()
  const { fields, help } = identity
  const queries = useQueryClient()
  const [id, setId] = useState(provider?.id ?? '')
  const [secret, setSecret] = useState('')
  const [despite, setDespite] = useState(false)
  const stored: Versioned<ProviderValues> = provider ?? NEW
  const form = useVersionedForm<ProviderValues, ProviderValues>({
    stored,
    pick: pickValues,
    refresh: () => queries.invalidateQueries({ queryKey: ['identity-providers'] }),
    send: async (changes, etag) => {
      const base = etag === stored.etag ? stored : await fetchProvider(id)
      const body = { ...buildBody({ ...pickValues(base), ...changes }, secret), despite_failures: despite }
      await saveProvider(id, body, etag, identity.exists)
      setSecret('')
      await queries.invalidateQueries({ queryKey: ['identity-providers'] })
      showToast(identity.saved(id))
      onSaved(id)
    },
  })
  const { values, set } = form
  const asks = !provider || goesElsewhere(pickValues(provider), values)
  const tryIt = () =>
    read(api.POST('/api/v1/deployment/identity-providers/test', { body: { id, ...buildBody(values, secret) } }))
  const address = (name: 'issuer' | 'tenant' | 'base_url' | 'api_url', text?: string) =>
    hasField(values.kind, name) && (
      <Field
        name={name}
        label={fields[name]}
        value={values[name]}
        onChange={(value) => set(name, value)}
        isRequired={isRequired(values.kind, name)}
        maxLength={500}
        {...(text && { help: text })}
      />
    )
  return (
    <TrialForm
      label={identity.title}
      form={form}
      hasMore={secret !== ''}
      onTry={tryIt}
      despite={despite}
      onDespite={setDespite}
      fieldLabel={(name) => fields[name]}
    >
      {!provider && (
        <>
          <SelectField
            label={fields.kind}
            value={values.kind}
            onChange={(kind) => set('kind', kind)}
            choices={KINDS.map((kind) => ({ value: kind, label: identity.kinds[kind] }))}
          />
          <Field name="id" label={fields.id} help={help.id} value={id} onChange={setId} isRequired maxLength={40} />
          {id !== '' && <CopyField label={identity.redirect} value={buildRedirectUri(id)} />}
          <ProviderSteps kind={values.kind} />
        </>
      )}
      {address('issuer', help.issuer)}
      {address('tenant', help.tenant)}
      <Field
        name="client_id"
        label={fields.client_id}
        value={values.client_id}
        onChange={(value) => set('client_id', value)}
        isRequired
        maxLength={500}
        autoComplete="off"
      />
      <Field
        name="client_secret"
        type="password"
        label={fields.client_secret}
        help={provider ? help.secretStored : help.secretNew}
        value={secret}
        onChange={setSecret}
        isRequired={asks}
        maxLength={2000}
        autoComplete="new-password"
      />
      <Field
        name="label"
        label={fields.label}
        value={values.label}
        onChange={(value) => set('label', value)}
        help={help.label}
        maxLength={60}
      />
      {address('base_url', help.base_url)}
      {address('api_url')}
      {hasField(values.kind, 'groups_claim') && (
        <Field
          name="groups_claim"
          label={fields.groups_claim}
          help={help.groups_claim}
          value={values.groups_claim}
          onChange={(value) => set('groups_claim', value)}
          maxLength={200}
        />
      )}
    </TrialForm>
  )
}

function fetchProvider(id: string): Promise<Versioned<SchemaIdentityProviderView>> {
  const params = { path: { identity_provider_id: id } }
  return readVersioned(api.GET('/api/v1/deployment/identity-providers/{identity_provider_id}', { params }))
}

type Body = ReturnType<typeof buildBody> & { despite_failures: boolean }

/** Store it; a new one replaces none, so its identifier is what has to be another. */
async function saveProvider(id: string, body: Body, etag: string, exists: string): Promise<void> {
  const params = { path: { identity_provider_id: id }, header: expect(etag) }
  try {
    await read(api.PUT('/api/v1/deployment/identity-providers/{identity_provider_id}', { params, body }))
  } catch (error) {
    if (etag !== NEW.etag || !(error instanceof Problem) || error.status !== 412) throw error
    throw new Problem(409, { code: 'conflict', errors: [{ field: 'id', problem: exists }] })
  }
}

/** Where the provider sends people back to. It is needed there before there is a client ID to try. */
function buildRedirectUri(id: string): string {
  return `${window.location.origin}/sign-in/callback/${encodeURIComponent(id)}`
}
