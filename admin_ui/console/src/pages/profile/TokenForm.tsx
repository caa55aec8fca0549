import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import { useMe } from '../../api/queries.ts'
import type { SchemaTokenCreate } from '../../api/schema.d.ts'
import { CopyField } from '../../components/CopyField.tsx'
import { Checkbox, Field, SelectField } from '../../components/Field.tsx'
import { ModalForm } from '../../components/ModalForm.tsx'
import { readResultTokens, ResultTokensField } from '../../components/ResultTokensField.tsx'
import { ToolExposureField, trimExposure } from '../../components/ToolExposureField.tsx'
import { useMessages } from '../../messages/index.tsx'
import styles from './profile.module.css'

type Scope = SchemaTokenCreate['scopes'][number]
type Life = '7' | '30' | '90' | '365' | 'none'

const SCOPES: readonly Scope[] = ['mcp:read', 'mcp:write', 'admin:read', 'admin:write']
const USUAL: readonly string[] = ['mcp:read', 'mcp:write']
const LIVES: readonly Life[] = ['7', '30', '90', '365', 'none']
const DAY_MS = 86_400_000

/** Makes an API token. It is shown once, and only this component ever has it. */
export function TokenForm({ onClose }: { onClose: () => void }) {
  const { profile } = useMessages()
  const me = useMe()
  const queries = useQueryClient()
  // Sent again after a lost answer, it makes no second token.
  const [requestKey] = useState(() => crypto.randomUUID())
  const [life, setLife] = useState<Life>('90')
  const [exposure, setExposure] = useState<string | null>(null)
  const [token, setToken] = useState<string | null>(null)
  const create = async (data: FormData) => {
    const body = {
      name: String(data.get('name')),
      scopes: data.getAll('scopes') as Scope[],
      read_only: data.get('read_only') !== null,
      result_tokens: readResultTokens(data.get('result_tokens')),
      tool_exposure: trimExposure(exposure),
      expires_at: life === 'none' ? null : new Date(Date.now() + Number(life) * DAY_MS).toISOString(),
    }
    const made = await read(api.POST('/api/v1/tokens', { body, params: { header: { 'idempotency-key': requestKey } } }))
    setToken(made.token)
    await queries.invalidateQueries({ queryKey: ['tokens'] })
  }
  return (
    <ModalForm
      title={token === null ? profile.createToken : profile.tokenTitle}
      submit={profile.create}
      onClose={onClose}
      onSubmit={create}
      {...(token !== null && { result: <ShownOnce token={token} /> })}
    >
      <Field label={profile.tokenName} help={profile.tokenNameHelp} name="name" maxLength={100} isRequired autoFocus />
      <fieldset className={styles.scopes}>
        <legend>{profile.scopes}</legend>
        {SCOPES.filter((scope) => me.scopes.includes(scope)).map((scope) => (
          <Checkbox key={scope} name="scopes" value={scope} defaultSelected={USUAL.includes(scope)}>
            {profile.scopeNames[scope]}
          </Checkbox>
        ))}
      </fieldset>
      <div>
        <Checkbox name="read_only">{profile.readOnlyTools}</Checkbox>
        <p className={styles.help}>{profile.readOnlyHelp}</p>
      </div>
      <SelectField
        label={profile.life}
        name="expires_at"
        value={life}
        onChange={setLife}
        choices={LIVES.map((value) => ({ value, label: value === 'none' ? profile.noEnd : profile.days(Number(value)) }))}
      />
      <ResultTokensField name="result_tokens" />
      <ToolExposureField of="credential" value={exposure} onChange={setExposure} />
    </ModalForm>
  )
}

function ShownOnce({ token }: { token: string }) {
  const { profile } = useMessages()
  return (
    <>
      <p>{profile.shownOnce}</p>
      <CopyField label={profile.token} value={token} />
    </>
  )
}
