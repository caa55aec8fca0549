import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, read, readVersioned } from '../../api/client.ts'
import { Problem } from '../../api/problems.ts'
import type { SchemaAuditStreamView } from '../../api/schema.d.ts'
import { expect, type Versioned } from '../../api/versions.ts'
import { Button } from '../../components/Button.tsx'
import { Card, Loaded } from '../../components/Card.tsx'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { Actions, Facts } from '../../components/Facts.tsx'
import { Checkbox, Field } from '../../components/Field.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { useOnline } from '../../components/States.tsx'
import { StatusBadge } from '../../components/StatusBadge.tsx'
import { Time } from '../../components/Time.tsx'
import { showToast } from '../../components/toasts.tsx'
import { TrialForm } from '../../components/TrialForm.tsx'
import { useVersionedForm } from '../../components/useVersionedForm.ts'
import { useFormat, useMessages } from '../../messages/index.tsx'
import { settingsRoute } from './route.ts'

type StreamValues = Pick<SchemaAuditStreamView, 'url' | 'enabled'>

const DIALOG = ['dialog'] as const
const KEY = ['audit-stream'] as const
/** `"v0"`: nothing is stored, so that a new stream replaces none. */
const NOT_STORED = '"v0"'
const NEW_STREAM: Versioned<StreamValues> = { url: '', enabled: true, etag: NOT_STORED }
const STATE_MS = 10_000

const pickValues = ({ url, enabled }: StreamValues): StreamValues => ({ url, enabled })

/** The stream, or null where the tenant has none. */
async function fetchStream() {
  try {
    return await readVersioned(api.GET('/api/v1/audit-stream', {}))
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return null
    throw error
  }
}

/** Where the tenant's audit log goes as it grows, and how far it has come. */
export function LogCollector() {
  const { settings } = useMessages()
  const { collector } = settings
  const { dialog } = settingsRoute.useSearch()
  const { close } = useOverlay(DIALOG)
  // Deliveries are no events of the log, or each would be one more to deliver.
  const query = useQuery({ queryKey: KEY, queryFn: fetchStream, refetchInterval: STATE_MS })
  return (
    <Card title={settings.views.collector} help={collector.help}>
      <Loaded query={query}>
        {(stream) => (
          <>
            {stream && <StreamState stream={stream} />}
            <StreamForm key={stream ? 'stored' : 'new'} stored={stream ?? NEW_STREAM} />
            {stream && <RemoveButton />}
            {stream && dialog === 'remove' && <RemoveStream url={stream.url} onClose={close} />}
          </>
        )}
      </Loaded>
    </Card>
  )
}

function StreamState({ stream }: { stream: SchemaAuditStreamView }) {
  const { settings } = useMessages()
  const { collector } = settings
  const format = useFormat()
  const state = !stream.enabled ? 'off' : stream.last_error ? 'failing' : stream.pending > 0 ? 'behind' : 'current'
  const tones = { off: 'none', failing: 'bad', behind: 'info', current: 'ok' } as const
  return (
    <Facts
      facts={[
        [collector.state, <StatusBadge key="state" tone={tones[state]} text={collector.states[state]} />],
        [collector.delivered, <Time key="delivered" at={stream.delivered_at} />],
        [collector.pending, format.number(stream.pending)],
        ...(stream.oldest_pending_at
          ? ([[collector.oldest, <Time key="oldest" at={stream.oldest_pending_at} />]] as const)
          : []),
        ...(stream.last_error
          ? ([
              [collector.error, collector.describeError(stream.last_error)],
              [collector.failingSince, <Time key="since" at={stream.failing_since} />],
              [collector.nextAttempt, <Time key="next" at={stream.next_attempt_at} />],
            ] as const)
          : []),
      ]}
    />
  )
}

function StreamForm({ stored }: { stored: Versioned<StreamValues> }) {
  const { settings } = useMessages()
  const { collector } = settings
  const queries = useQueryClient()
  const [secret, setSecret] = useState('')
  const [fromBeginning, setFromBeginning] = useState(false)
  const [despite, setDespite] = useState(false)
  const isNew = stored.etag === NOT_STORED
  const refresh = () => queries.invalidateQueries({ queryKey: KEY })
  const form = useVersionedForm<StreamValues, StreamValues>({
    stored,
    pick: pickValues,
    refresh,
    send: async (changes, etag) => {
      // The API takes a stream whole, so what somebody else has changed meanwhile is read before it is sent.
      const base = etag === stored.etag ? stored : ((await fetchStream()) ?? stored)
      const values = { ...pickValues(base), ...changes }
      const body = { ...values, secret: secret || null, from_beginning: fromBeginning, despite_failures: despite }
      await read(api.PUT('/api/v1/audit-stream', { body, params: { header: expect(etag) } }))
      setSecret('')
      await refresh()
      showToast(collector.saved)
    },
  })
  const { url, enabled } = form.values
  return (
    <TrialForm
      label={settings.views.collector}
      form={form}
      hasMore={secret !== ''}
      onTry={() => read(api.POST('/api/v1/audit-stream/test', { body: { url: url.trim(), secret: secret || null } }))}
      despite={despite}
      onDespite={setDespite}
      fieldLabel={(name) => collector.fields[name]}
      showValue={(_, value) => (typeof value === 'boolean' ? (value ? settings.on : settings.off) : String(value))}
    >
      <Field
        name="url"
        label={collector.fields.url}
        help={collector.urlHelp}
        value={url}
        onChange={(text) => form.set('url', text)}
        isRequired
        maxLength={2000}
        autoComplete="off"
      />
      {/* For password managers: what the secret belongs to. */}
      <input type="text" autoComplete="username" value={url} readOnly hidden />
      <Field
        name="secret"
        type="password"
        label={collector.secret}
        help={isNew ? collector.secretNew : collector.secretStored}
        value={secret}
        onChange={setSecret}
        isRequired={isNew}
        maxLength={2000}
        autoComplete="new-password"
      />
      {isNew ? (
        <Checkbox isSelected={fromBeginning} onChange={setFromBeginning}>
          {collector.fromBeginning}
        </Checkbox>
      ) : (
        <Checkbox isSelected={enabled} onChange={(on) => form.set('enabled', on)}>
          {collector.fields.enabled}
        </Checkbox>
      )}
    </TrialForm>
  )
}

function RemoveButton() {
  const { settings } = useMessages()
  const online = useOnline()
  const { open } = useOverlay(DIALOG)
  return (
    <Actions>
      <Button kind="danger" isDisabled={!online} onPress={() => open({ dialog: 'remove' })}>
        {settings.collector.remove}
      </Button>
    </Actions>
  )
}

function RemoveStream({ url, onClose }: { url: string; onClose: () => void }) {
  const { settings } = useMessages()
  const { collector } = settings
  const queries = useQueryClient()
  const { host } = new URL(url)
  const remove = async () => {
    await read(api.DELETE('/api/v1/audit-stream', {}))
    onClose()
    showToast(collector.removed(host))
    await queries.invalidateQueries({ queryKey: KEY })
  }
  return (
    <ConfirmDestroy
      title={collector.removeTitle(host)}
      confirm={collector.remove}
      typed={host}
      onConfirm={remove}
      onClose={onClose}
    >
      <p>{collector.removeText}</p>
    </ConfirmDestroy>
  )
}
