import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { api, read } from '../../api/client.ts'
import type { SchemaOAuthClientUpsert, SchemaOAuthClientView, SchemaProviderView } from '../../api/schema.d.ts'
import { expect, type Versioned } from '../../api/versions.ts'
import { Button } from '../../components/Button.tsx'
import { Loaded } from '../../components/Card.tsx'
import { ConflictNotice } from '../../components/ConflictNotice.tsx'
import { Actions } from '../../components/Facts.tsx'
import { Field, SelectField } from '../../components/Field.tsx'
import { ProblemNotice, useOnline } from '../../components/States.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useVersionedForm } from '../../components/useVersionedForm.ts'
import { useMessages } from '../../messages/index.tsx'
import { clientQuery } from './queries.ts'
import styles from './services.module.css'

const METHODS = ['', 'basic', 'basic_raw', 'post', 'private_key_jwt', 'none'] as const
const SETTING = 'setting:'

type Stored = Pick<SchemaOAuthClientView, 'client_id' | 'auth_method' | 'settings'>

/** `"v0"`: nothing is stored, so that a new client replaces none. */
const NEW: Versioned<Stored> = { client_id: '', auth_method: '', settings: {}, etag: '"v0"' }

interface OAuthClientFormProps {
  module: string
  provider: SchemaProviderView
  /** The role whose client it is; null is the whole tenant. */
  roleId: string | null
  /** The stored client; undefined where there is none. */
  clientId: string | undefined
}

/** Client id and secret at a provider. The secret goes in and never comes out. */
export function OAuthClientForm(props: OAuthClientFormProps) {
  const query = useQuery({ ...clientQuery(props.clientId ?? ''), enabled: props.clientId !== undefined })
  if (props.clientId === undefined) return <ClientForm {...props} stored={NEW} hasSecret={false} />
  return <Loaded query={query}>{(stored) => <ClientForm {...props} stored={stored} hasSecret={stored.has_secret} />}</Loaded>
}

interface ClientFormProps extends OAuthClientFormProps {
  stored: Versioned<Stored>
  hasSecret: boolean
}

/** The values of the form, each setting of the provider under a name of its own. */
type Values = Record<string, string>

function pickValues({ client_id, auth_method, settings }: Stored): Values {
  const named = Object.entries(settings).map(([name, value]) => [SETTING + name, value])
  return { client_id, auth_method, ...(Object.fromEntries(named) as Values) }
}

function ClientForm({ module, provider, roleId, clientId, stored, hasSecret }: ClientFormProps) {
  const { common, problems, services } = useMessages()
  const { oauth } = services
  const queries = useQueryClient()
  const online = useOnline()
  const [secret, setSecret] = useState('')
  const refresh = () => queries.invalidateQueries({ queryKey: ['oauth-clients'] })
  const form = useVersionedForm({
    stored,
    pick: pickValues,
    refresh,
    send: async (changes, etag) => {
      // The API takes a client whole, so what somebody else has changed meanwhile is read before it is sent.
      const now = etag === stored.etag || !clientId ? stored : await queries.fetchQuery({ ...clientQuery(clientId), staleTime: 0 })
      const all = { ...pickValues(now), ...changes } as Values
      const body = { ...buildBody(all, provider, secret), role_id: roleId }
      const params = { path: { module }, header: expect(etag) }
      await read(api.PUT('/api/v1/services/{module}/oauth-client', { params, body }))
      setSecret('')
      await refresh()
      showToast(oauth.saved(provider.title))
    },
  })
  const { problem, values } = form
  const label = (name: string) => labelField(name, provider, oauth)
  return (
    <Form
      className={styles.form!}
      aria-label={`${oauth.client} ${provider.title}`}
      onSubmit={(event) => {
        event.preventDefault()
        void form.save()
      }}
      {...(problem && { validationErrors: problem.fields })}
    >
      <Field
        name="client_id"
        label={oauth.clientId}
        value={values.client_id ?? ''}
        onChange={(text) => form.set('client_id', text)}
        isRequired
        maxLength={500}
        autoComplete="off"
      />
      <Field
        name="client_secret"
        type="password"
        label={oauth.secret}
        help={hasSecret ? oauth.secretStored : oauth.secretNew}
        value={secret}
        onChange={setSecret}
        maxLength={16_384}
        autoComplete="new-password"
      />
      {provider.settings.map((setting) => (
        <Field
          key={setting.name}
          name={SETTING + setting.name}
          label={setting.title}
          value={values[SETTING + setting.name] ?? ''}
          onChange={(text) => form.set(SETTING + setting.name, text)}
          isRequired={setting.default === null}
          maxLength={500}
          {...(setting.default && { placeholder: setting.default })}
        />
      ))}
      <SelectField
        name="auth_method"
        label={oauth.method}
        value={METHODS.find((method) => method === values.auth_method) ?? ''}
        onChange={(method) => form.set('auth_method', method)}
        choices={METHODS.map((method) => ({ value: method, label: method || oauth.methodDefault }))}
      />
      {problem && Object.keys(problem.fields).length === 0 && <ProblemNotice error={problem} title={problems.actionTitle} />}
      <ConflictNotice form={form} label={label} />
      {!form.conflict && (
        <Actions>
          <Button kind="primary" type="submit" isPending={form.busy} isDisabled={!(form.isChanged || secret) || !online}>
            {common.save}
          </Button>
        </Actions>
      )}
    </Form>
  )
}

interface Texts {
  clientId: string
  method: string
}

function labelField(name: string, provider: SchemaProviderView, { clientId, method }: Texts): string {
  if (name === 'client_id') return clientId
  if (name === 'auth_method') return method
  return provider.settings.find((setting) => SETTING + setting.name === name)?.title ?? name
}

function buildBody(values: Values, provider: SchemaProviderView, secret: string): SchemaOAuthClientUpsert {
  const settings = provider.settings
    .map(({ name }) => [name, (values[SETTING + name] ?? '').trim()] as const)
    .filter(([, value]) => value !== '')
  return {
    provider: provider.id,
    client_id: (values.client_id ?? '').trim(),
    client_secret: secret || null,
    auth_method: METHODS.find((method) => method === values.auth_method) ?? '',
    settings: Object.fromEntries(settings),
  }
}
