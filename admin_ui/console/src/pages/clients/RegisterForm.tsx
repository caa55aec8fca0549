import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import { findPeople } from '../../api/people.ts'
import { useMe } from '../../api/queries.ts'
import type { SchemaClientCreate, SchemaCreatedClientView } from '../../api/schema.d.ts'
import { CopyField } from '../../components/CopyField.tsx'
import { Checkbox, Field, SelectField } from '../../components/Field.tsx'
import { FindBox, type Found } from '../../components/FindBox.tsx'
import { ModalForm } from '../../components/ModalForm.tsx'
import { ToolExposureField, trimExposure } from '../../components/ToolExposureField.tsx'
import { useMessages } from '../../messages/index.tsx'
import styles from './clients.module.css'

const KINDS = ['public', 'web', 'machine'] as const
type Kind = (typeof KINDS)[number]
type Scope = SchemaClientCreate['scopes'][number]
const SCOPES: readonly Scope[] = ['mcp:read', 'mcp:write', 'admin:read', 'admin:write']
const USUAL: readonly string[] = ['mcp:read', 'mcp:write']

/** Registers a client. Its secret is shown once, and only this component ever has it. */
export function RegisterForm({ onClose }: { onClose: () => void }) {
  const { oauthClients, profile } = useMessages()
  const { form } = oauthClients
  const me = useMe()
  const queries = useQueryClient()
  const [kind, setKind] = useState<Kind>('public')
  const [user, setUser] = useState<Found | null>(null)
  const [exposure, setExposure] = useState<string | null>(null)
  const [made, setMade] = useState<SchemaCreatedClientView | null>(null)
  const register = async (data: FormData) => {
    const body = { ...buildBody(data, kind, user?.id ?? null), tool_exposure: trimExposure(exposure) }
    setMade(await read(api.POST('/api/v1/oauth/clients', { body })))
    await queries.invalidateQueries({ queryKey: ['clients'] })
  }
  return (
    <ModalForm
      title={made ? form.done : oauthClients.add}
      submit={form.submit}
      onClose={onClose}
      onSubmit={register}
      {...(made && { result: <Credentials made={made} /> })}
    >
      <Field name="name" label={form.name} help={form.nameHelp} isRequired autoFocus maxLength={100} />
      <SelectField
        label={form.kind}
        help={oauthClients.kindHelp[kind]}
        value={kind}
        choices={KINDS.map((value) => ({ value, label: oauthClients.kinds[value] }))}
        onChange={setKind}
      />
      {kind === 'machine' ? (
        <>
          <FindBox label={form.actsAs} resource="users" find={findPeople} onChoose={setUser} />
          <p className={styles.help}>{user ? form.chosen(user.text) : form.actsAsNobody}</p>
        </>
      ) : (
        <Field name="redirect_uris" label={form.redirectUris} help={form.redirectUrisHelp} isRequired long maxLength={40_000} />
      )}
      <fieldset className={styles.scopes}>
        <legend>{form.scopes}</legend>
        {SCOPES.filter((scope) => me.scopes.includes(scope)).map((scope) => (
          <Checkbox key={scope} name="scopes" value={scope} defaultSelected={USUAL.includes(scope)}>
            {profile.scopeNames[scope]}
          </Checkbox>
        ))}
      </fieldset>
      <ToolExposureField of="credential" value={exposure} onChange={setExposure} />
    </ModalForm>
  )
}

function buildBody(data: FormData, kind: Kind, userId: string | null): SchemaClientCreate {
  const lines = String(data.get('redirect_uris') ?? '').split('\n')
  return {
    name: String(data.get('name')).trim(),
    auth_method: kind === 'public' ? 'none' : 'client_secret_basic',
    redirect_uris: lines.map((line) => line.trim()).filter((line) => line !== ''),
    grant_types: kind === 'machine' ? ['client_credentials'] : ['authorization_code', 'refresh_token'],
    scopes: data.getAll('scopes') as Scope[],
    acts_as_user_id: kind === 'machine' ? userId : null,
  }
}

function Credentials({ made }: { made: SchemaCreatedClientView }) {
  const { oauthClients } = useMessages()
  return (
    <>
      <CopyField label={oauthClients.clientId} value={made.id} />
      <p>{oauthClients.form.next}</p>
      {made.secret && (
        <>
          <p>{oauthClients.form.secretOnce}</p>
          <CopyField label={oauthClients.form.secret} value={made.secret} />
        </>
      )}
    </>
  )
}
