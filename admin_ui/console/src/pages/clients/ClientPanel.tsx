import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { api, read, readVersioned } from '../../api/client.ts'
import type { SchemaClientUpdate, SchemaClientView } from '../../api/schema.d.ts'
import { expect, type Versioned } from '../../api/versions.ts'
import { Button } from '../../components/Button.tsx'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { ConflictNotice } from '../../components/ConflictNotice.tsx'
import { CopyField } from '../../components/CopyField.tsx'
import { DetailPanel } from '../../components/DetailPanel.tsx'
import { Actions, Facts, Section } from '../../components/Facts.tsx'
import { Checkbox, SelectField } from '../../components/Field.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { ResultTokensField } from '../../components/ResultTokensField.tsx'
import { ProblemNotice, Skeleton, useOnline } from '../../components/States.tsx'
import { Time } from '../../components/Time.tsx'
import { showToast } from '../../components/toasts.tsx'
import { ToolExposureField, trimExposure } from '../../components/ToolExposureField.tsx'
import { useVersionedForm } from '../../components/useVersionedForm.ts'
import { useFormat, useMessages } from '../../messages/index.tsx'

const OF_PANEL = ['id', 'dialog'] as const
const OF_DIALOG = ['dialog'] as const
const FORMATS = ['auto', 'short', 'full'] as const

const clientQuery = (id: string) =>
  queryOptions({
    queryKey: ['clients', id],
    queryFn: () => readVersioned(api.GET('/api/v1/oauth/clients/{client_id}', { params: { path: { client_id: id } } })),
  })

/** One registered client. */
export function ClientPanel({ id, asks }: { id: string; asks: boolean }) {
  const { oauthClients } = useMessages()
  const queries = useQueryClient()
  const online = useOnline()
  const { data: client, error, refetch } = useQuery(clientQuery(id))
  const { close, clear } = useOverlay(OF_PANEL)
  const { open, close: closeDialog } = useOverlay(OF_DIALOG)
  if (!client)
    return (
      <DetailPanel title={oauthClients.title} onClose={close} padded>
        {error ? <ProblemNotice error={error} onRetry={() => void refetch()} /> : <Skeleton lines={6} />}
      </DetailPanel>
    )
  const remove = async () => {
    await read(api.DELETE('/api/v1/oauth/clients/{client_id}', { params: { path: { client_id: id } } }))
    clear()
    showToast(oauthClients.removed(client.name))
    queries.removeQueries({ queryKey: ['clients', id] })
    await Promise.all([queries.invalidateQueries({ queryKey: ['clients'] }), queries.invalidateQueries({ queryKey: ['grants'] })])
  }
  return (
    <>
      <DetailPanel title={client.name} onClose={close} padded>
        <CopyField label={oauthClients.clientId} value={client.id} />
        <Facts
          facts={[
            [oauthClients.authMethod, client.auth_method],
            [oauthClients.grantTypes, client.grant_types.join(', ')],
            [oauthClients.columns.scopes, client.scopes.join(' ')],
            [oauthClients.form.redirectUris, client.redirect_uris.join(' ') || '–'],
            [oauthClients.form.actsAs, client.user_email || '–'],
            [oauthClients.columns.made, <Time key="made" at={client.created_at} />],
          ]}
        />
        <ClientForm client={client} />
        <Actions>
          <Button kind="danger" isDisabled={!online} onPress={() => open({ dialog: 'remove' })}>
            {oauthClients.remove}
          </Button>
        </Actions>
      </DetailPanel>
      {asks && (
        <ConfirmDestroy
          title={oauthClients.removeTitle(client.name)}
          confirm={oauthClients.remove}
          typed={client.name}
          onConfirm={remove}
          onClose={closeDialog}
        >
          <p>{oauthClients.removeText}</p>
        </ConfirmDestroy>
      )}
    </>
  )
}

const pickValues = ({ disabled_at, tool_result_format, result_tokens, tool_exposure }: SchemaClientView) => ({
  enabled: disabled_at === null,
  tool_result_format,
  result_tokens,
  tool_exposure,
})

function ClientForm({ client }: { client: Versioned<SchemaClientView> }) {
  const { common, oauthClients, problems, results, toolExposure } = useMessages()
  const format = useFormat()
  const queries = useQueryClient()
  const online = useOnline()
  const refresh = async () => {
    await Promise.all([queries.invalidateQueries({ queryKey: ['clients'] }), queries.invalidateQueries({ queryKey: ['grants'] })])
  }
  const form = useVersionedForm({
    stored: client,
    pick: pickValues,
    refresh,
    send: async (changes, etag) => {
      const params = { path: { client_id: client.id }, header: expect(etag) }
      // What is left out stays; the generated type asks for it, because it has a default.
      const exposure = changes.tool_exposure === undefined ? {} : { tool_exposure: trimExposure(changes.tool_exposure) }
      const body = { ...changes, ...exposure } as SchemaClientUpdate
      await read(api.PATCH('/api/v1/oauth/clients/{client_id}', { params, body }))
      await refresh()
      showToast(oauthClients.saved(client.name))
    },
  })
  const labels = {
    enabled: oauthClients.columns.state,
    tool_result_format: oauthClients.format,
    result_tokens: results.tokens,
    tool_exposure: toolExposure.label,
  }
  const save = (event: FormEvent) => {
    event.preventDefault()
    void form.save()
  }
  return (
    <form onSubmit={save}>
      <Section title={oauthClients.columns.state}>
        <Checkbox isSelected={form.values.enabled} onChange={(enabled) => form.set('enabled', enabled)}>
          {oauthClients.enabled}
        </Checkbox>
        <SelectField
          label={oauthClients.format}
          value={form.values.tool_result_format ?? 'auto'}
          choices={FORMATS.map((value) => ({ value, label: oauthClients.formats[value] }))}
          onChange={(value) => form.set('tool_result_format', value === 'auto' ? null : value)}
        />
        <ResultTokensField value={form.values.result_tokens} onChange={(value) => form.set('result_tokens', value)} />
        <ToolExposureField
          of="credential"
          value={form.values.tool_exposure}
          onChange={(value) => form.set('tool_exposure', value)}
        />
        {form.problem && <ProblemNotice error={form.problem} title={problems.actionTitle} />}
        <ConflictNotice
          form={form}
          label={(name) => labels[name]}
          show={(name, value) => {
            if (name === 'enabled') return value ? oauthClients.enabled : oauthClients.disabled
            if (name === 'tool_exposure') return value === null ? toolExposure.byRole : String(value)
            if (name === 'result_tokens') return value === null ? results.decided : format.number(value as number)
            return oauthClients.formats[(value ?? 'auto') as (typeof FORMATS)[number]]
          }}
        />
        {!form.conflict && (
          <Actions>
            <Button kind="primary" type="submit" isDisabled={!form.isChanged || !online} isPending={form.busy}>
              {common.save}
            </Button>
          </Actions>
        )}
      </Section>
    </form>
  )
}
