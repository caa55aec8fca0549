import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Form } from 'react-aria-components'
import { api, read, readVersioned } from '../../api/client.ts'
import type { SchemaClientTrustView } from '../../api/schema.d.ts'
import { expect, type Versioned } from '../../api/versions.ts'
import { Button } from '../../components/Button.tsx'
import { Card, Loaded } from '../../components/Card.tsx'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { ConflictNotice } from '../../components/ConflictNotice.tsx'
import { Actions, Facts } from '../../components/Facts.tsx'
import { Checkbox, Field } from '../../components/Field.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { ProblemNotice, useOnline } from '../../components/States.tsx'
import { StatusBadge } from '../../components/StatusBadge.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useVersionedForm } from '../../components/useVersionedForm.ts'
import { useFormat, useMessages } from '../../messages/index.tsx'
import styles from './identity.module.css'

const OF_DIALOG = ['dialog'] as const
const KEY = ['client-trust'] as const

/** Which clients come in that no administrator has registered. */
export function ClientTrust({ asks }: { asks: boolean }) {
  const { trust } = useMessages()
  const query = useQuery({ queryKey: KEY, queryFn: fetchTrust })
  const { close } = useOverlay(OF_DIALOG)
  return (
    <Card title={trust.title} help={trust.help}>
      <Loaded query={query}>
        {(stored) => (
          <>
            {!stored.in_effect && <StatusBadge tone="warn" text={trust.noEffect} />}
            <Facts facts={[[trust.source, trust.sources[stored.source]]]} />
            {stored.source === 'file' ? <TrustOfFile stored={stored} /> : <TrustForm stored={stored} />}
            {asks && stored.source === 'database' && <ResetTrust stored={stored} onClose={close} />}
          </>
        )}
      </Loaded>
    </Card>
  )
}

const fetchTrust = () => readVersioned(api.GET('/api/v1/deployment/client-trust', {}))

function TrustOfFile({ stored }: { stored: SchemaClientTrustView }) {
  const { trust } = useMessages()
  return (
    <>
      <p>{trust.ofFile}</p>
      <Facts
        facts={[
          [trust.fields.dynamic_registration, stored.dynamic_registration ? trust.on : trust.off],
          [trust.fields.client_metadata_hosts, stored.client_metadata_hosts.join(', ') || trust.none],
        ]}
      />
    </>
  )
}

const pickValues = ({ dynamic_registration, client_metadata_hosts }: SchemaClientTrustView) => ({
  dynamic_registration,
  hosts: client_metadata_hosts.join('\n'),
})

function TrustForm({ stored }: { stored: Versioned<SchemaClientTrustView> }) {
  const { common, problems, trust } = useMessages()
  const queries = useQueryClient()
  const online = useOnline()
  const { open } = useOverlay(OF_DIALOG)
  const refresh = () => queries.invalidateQueries({ queryKey: KEY })
  const form = useVersionedForm({
    stored,
    pick: pickValues,
    refresh,
    send: async (changes, etag) => {
      // The API takes the trust whole, so what somebody else has changed meanwhile is read before it is sent.
      const base = pickValues(etag === stored.etag ? stored : await fetchTrust())
      const { dynamic_registration, hosts } = { ...base, ...changes }
      const body = { dynamic_registration, client_metadata_hosts: hosts.split(/[\s,]+/).filter(Boolean) }
      await read(api.PUT('/api/v1/deployment/client-trust', { body, params: { header: expect(etag) } }))
      await refresh()
      showToast(trust.saved)
    },
  })
  const { problem, values } = form
  return (
    <Form
      className={styles.form!}
      aria-label={trust.title}
      onSubmit={(event) => {
        event.preventDefault()
        void form.save()
      }}
      {...(problem && { validationErrors: problem.fields })}
    >
      <Field
        name="client_metadata_hosts"
        label={trust.fields.client_metadata_hosts}
        help={trust.hostsHelp}
        value={values.hosts}
        onChange={(hosts) => form.set('hosts', hosts)}
        maxLength={13_000}
        long
      />
      <div>
        <Checkbox isSelected={values.dynamic_registration} onChange={(on) => form.set('dynamic_registration', on)}>
          {trust.fields.dynamic_registration}
        </Checkbox>
        <p className={styles.help}>{trust.dynamicHelp}</p>
      </div>
      {problem && Object.keys(problem.fields).length === 0 && <ProblemNotice error={problem} title={problems.actionTitle} />}
      <ConflictNotice
        form={form}
        label={(name) => trust.fields[name === 'hosts' ? 'client_metadata_hosts' : name]}
        show={(_, value) => (typeof value === 'boolean' ? (value ? trust.on : trust.off) : String(value) || trust.none)}
      />
      {!form.conflict && (
        <Actions>
          <Button kind="primary" type="submit" isDisabled={!form.isChanged || !online} isPending={form.busy}>
            {common.save}
          </Button>
          {stored.source === 'database' && (
            <Button kind="danger" isDisabled={!online} onPress={() => open({ dialog: 'reset' })}>
              {trust.reset}
            </Button>
          )}
        </Actions>
      )}
    </Form>
  )
}

function ResetTrust({ stored, onClose }: { stored: SchemaClientTrustView; onClose: () => void }) {
  const { trust } = useMessages()
  const format = useFormat()
  const queries = useQueryClient()
  const reset = async () => {
    await read(api.DELETE('/api/v1/deployment/client-trust', {}))
    onClose()
    const refresh = () => queries.invalidateQueries({ queryKey: KEY })
    const { dynamic_registration, client_metadata_hosts } = stored
    showToast(trust.wasReset, async () => {
      await read(api.PUT('/api/v1/deployment/client-trust', { body: { dynamic_registration, client_metadata_hosts } }))
      await refresh()
    })
    await refresh()
  }
  const hosts = stored.client_metadata_hosts.length > 0 ? format.list(stored.client_metadata_hosts) : trust.none
  return (
    <ConfirmDestroy title={trust.resetTitle} confirm={trust.reset} typed={null} onConfirm={reset} onClose={onClose}>
      <p>{trust.resetText(hosts)}</p>
    </ConfirmDestroy>
  )
}
