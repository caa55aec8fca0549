import { useQueryClient } from '@tanstack/react-query'
import { KeyRound } from 'lucide-react'
import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaScimTokenView } from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import { Card } from '../../components/Card.tsx'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { CopyField } from '../../components/CopyField.tsx'
import { Field } from '../../components/Field.tsx'
import { ModalForm } from '../../components/ModalForm.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { PagedItems } from '../../components/PagedItems.tsx'
import { Time } from '../../components/Time.tsx'
import { showToast } from '../../components/toasts.tsx'
import { usePagedList } from '../../components/usePagedList.ts'
import { useMessages } from '../../messages/index.tsx'
import { settingsRoute } from './route.ts'

const DIALOG = ['dialog'] as const
const KEY = ['scim-tokens'] as const

/** The tokens by which an identity provider provisions people and groups, and where it sends them. */
export function ScimTokens() {
  const { scim } = useMessages().settings
  const { profile } = useMessages()
  const queries = useQueryClient()
  const { dialog } = settingsRoute.useSearch()
  const { open, close } = useOverlay(DIALOG)
  const [asked, setAsked] = useState<SchemaScimTokenView | null>(null)
  const list = usePagedList([...KEY, 'list'], (cursor) =>
    read(api.GET('/api/v1/scim-tokens', { params: { query: { limit: 50, ...(cursor && { cursor }) } } })),
  )
  const revoke = async (token: SchemaScimTokenView) => {
    await read(api.DELETE('/api/v1/scim-tokens/{scim_token_id}', { params: { path: { scim_token_id: token.id } } }))
    await queries.invalidateQueries({ queryKey: KEY })
    showToast(profile.revoked(token.name))
    setAsked(null)
  }
  const action = (
    <Button icon={KeyRound} onPress={() => open({ dialog: 'scim' })}>
      {profile.createToken}
    </Button>
  )
  return (
    <Card title={scim.title} help={scim.help} action={action}>
      <CopyField label={scim.url} value={`${window.location.origin}/scim/v2`} />
      <PagedItems
        label={scim.title}
        list={list}
        itemKey={(token) => token.id}
        title={(token) => token.name}
        detail={(token) => (
          <>
            {scim.created} <Time at={token.created_at} /> ·{' '}
            {token.last_used_at ? (
              <>
                {profile.lastUsed} <Time at={token.last_used_at} />
              </>
            ) : (
              profile.neverUsed
            )}
          </>
        )}
        end={(token) => (
          <Button aria-label={scim.revokeOf(token.name)} onPress={() => setAsked(token)}>
            {profile.revoke}
          </Button>
        )}
        empty={scim.none}
      />
      {dialog === 'scim' && <ScimTokenForm onClose={close} />}
      {asked && (
        <ConfirmDestroy
          title={profile.revokeTitle(asked.name)}
          confirm={profile.revoke}
          typed={asked.name}
          onConfirm={() => revoke(asked)}
          onClose={() => setAsked(null)}
        >
          <p>{scim.revokeText}</p>
        </ConfirmDestroy>
      )}
    </Card>
  )
}

/** Makes a token. It is shown once, and only this component ever has it. */
function ScimTokenForm({ onClose }: { onClose: () => void }) {
  const { profile, settings } = useMessages()
  const queries = useQueryClient()
  const [token, setToken] = useState<string | null>(null)
  const create = async (data: FormData) => {
    const made = await read(api.POST('/api/v1/scim-tokens', { body: { name: String(data.get('name')) } }))
    setToken(made.token)
    await queries.invalidateQueries({ queryKey: KEY })
  }
  const result = token !== null && (
    <>
      <p>{settings.scim.shownOnce}</p>
      <CopyField label={profile.token} value={token} />
    </>
  )
  return (
    <ModalForm
      title={token === null ? settings.scim.create : profile.tokenTitle}
      submit={profile.create}
      onClose={onClose}
      onSubmit={create}
      {...(result && { result })}
    >
      <Field label={profile.tokenName} help={settings.scim.nameHelp} name="name" maxLength={100} isRequired autoFocus />
    </ModalForm>
  )
}
