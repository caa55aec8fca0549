import { useQueryClient } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { Form } from 'react-aria-components'
import { api, read } from '../../api/client.ts'
import type { SchemaOAuthClientUpsert, SchemaOAuthClientView, SchemaProviderView } from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import { Actions } from '../../components/Facts.tsx'
import { Field, SelectField } from '../../components/Field.tsx'
import { ProblemNotice, useOnline } from '../../components/States.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useAction } from '../../components/useAction.ts'
import { useMessages } from '../../messages/index.tsx'
import styles from './services.module.css'

const METHODS = ['', 'basic', 'basic_raw', 'post', 'private_key_jwt', 'none'] as const
const SETTING = 'setting:'

interface OAuthClientFormProps {
  module: string
  provider: SchemaProviderView
  /** The role whose client it is; null is the whole tenant. */
  roleId: string | null
  stored: SchemaOAuthClientView | undefined
}

/** Client id and secret at a provider. The secret goes in and never comes out. */
export function OAuthClientForm({ module, provider, roleId, stored }: OAuthClientFormProps) {
  const { common, problems, services } = useMessages()
  const { oauth } = services
  const queries = useQueryClient()
  const online = useOnline()
  const { busy, problem, run } = useAction()
  const save = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const body = { ...readBody(new FormData(event.currentTarget), provider), role_id: roleId }
    return run(async () => {
      await read(api.PUT('/api/v1/services/{module}/oauth-client', { params: { path: { module } }, body }))
      await queries.invalidateQueries({ queryKey: ['oauth-clients'] })
      showToast(oauth.saved(provider.title))
    })
  }
  return (
    <Form
      className={styles.form!}
      aria-label={`${oauth.client} ${provider.title}`}
      onSubmit={(event) => void save(event)}
      {...(problem && { validationErrors: problem.fields })}
    >
      <Field name="client_id" label={oauth.clientId} defaultValue={stored?.client_id ?? ''} isRequired maxLength={500} autoComplete="off" />
      <Field
        name="client_secret"
        type="password"
        label={oauth.secret}
        help={stored?.has_secret ? oauth.secretStored : oauth.secretNew}
        maxLength={16_384}
        autoComplete="new-password"
      />
      {provider.settings.map((setting) => (
        <Field
          key={setting.name}
          name={SETTING + setting.name}
          label={setting.title}
          defaultValue={stored?.settings[setting.name] ?? ''}
          isRequired={setting.default === null}
          maxLength={500}
          {...(setting.default && { placeholder: setting.default })}
        />
      ))}
      <SelectField
        name="auth_method"
        label={oauth.method}
        defaultValue={METHODS.find((method) => method === stored?.auth_method) ?? ''}
        choices={METHODS.map((method) => ({ value: method, label: method || oauth.methodDefault }))}
      />
      {problem && Object.keys(problem.fields).length === 0 && <ProblemNotice error={problem} title={problems.actionTitle} />}
      <Actions>
        <Button kind="primary" type="submit" isPending={busy} isDisabled={!online}>
          {common.save}
        </Button>
      </Actions>
    </Form>
  )
}

function readBody(data: FormData, provider: SchemaProviderView): SchemaOAuthClientUpsert {
  const text = (name: string) => String(data.get(name) ?? '').trim()
  const settings = provider.settings.map(({ name }) => [name, text(SETTING + name)] as const).filter(([, value]) => value !== '')
  return {
    provider: provider.id,
    client_id: text('client_id'),
    client_secret: text('client_secret') || null,
    auth_method: METHODS.find((method) => method === text('auth_method')) ?? '',
    settings: Object.fromEntries(settings),
  }
}
