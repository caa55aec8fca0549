import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Form } from 'react-aria-components'
import { useMe } from '../../api/queries.ts'
import type { SchemaTenantView } from '../../api/schema.d.ts'
import type { Versioned } from '../../api/versions.ts'
import { Button } from '../../components/Button.tsx'
import { ConflictNotice } from '../../components/ConflictNotice.tsx'
import { DetailPanel } from '../../components/DetailPanel.tsx'
import { Actions, Facts, Section } from '../../components/Facts.tsx'
import { Field } from '../../components/Field.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { ProblemNotice, Skeleton, useOnline } from '../../components/States.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useAction } from '../../components/useAction.ts'
import { useVersionedForm } from '../../components/useVersionedForm.ts'
import { useMessages } from '../../messages/index.tsx'
import { RemoveTenant, SuspendTenant } from './EndTenant.tsx'
import { changeTenant, tenantQuery } from './queries.ts'
import type { TenantsSearch } from './route.ts'
import { TenantContents } from './TenantContents.tsx'
import { TenantStatus } from './TenantsPage.tsx'

const OF_PANEL = ['id', 'dialog'] as const
const OF_DIALOG = ['dialog'] as const

/** One tenant. */
export function TenantPanel({ id, dialog }: { id: string; dialog: TenantsSearch['dialog'] }) {
  const { tenants } = useMessages()
  const { data: tenant, error, refetch } = useQuery(tenantQuery(id))
  const { close, clear } = useOverlay(OF_PANEL)
  const { open, close: closeDialog } = useOverlay(OF_DIALOG)
  if (!tenant)
    return (
      <DetailPanel title={tenants.title} onClose={close} padded>
        {error ? <ProblemNotice error={error} onRetry={() => void refetch()} /> : <Skeleton lines={6} />}
      </DetailPanel>
    )
  return (
    <>
      <DetailPanel title={tenant.name} subtitle={tenant.slug} onClose={close} padded>
        <Facts facts={[[tenants.columns.status, <TenantStatus key="status" tenant={tenant} />]]} />
        <NameForm tenant={tenant} />
        <Section title={tenants.contents}>
          <TenantContents tenantId={id} />
        </Section>
        <EndActions tenant={tenant} onDialog={(name) => open({ dialog: name })} />
      </DetailPanel>
      {dialog === 'suspend' && <SuspendTenant tenant={tenant} onClose={closeDialog} />}
      {dialog === 'remove' && <RemoveTenant tenant={tenant} onClose={closeDialog} onRemoved={clear} />}
    </>
  )
}

interface EndActionsProps {
  tenant: SchemaTenantView
  onDialog: (name: 'suspend' | 'remove') => void
}

/** What ends a tenant's access; one's own has none of it. */
function EndActions({ tenant, onDialog }: EndActionsProps) {
  const { problems, tenants } = useMessages()
  const me = useMe()
  const queries = useQueryClient()
  const online = useOnline()
  const { busy, problem, run } = useAction()
  if (tenant.slug === me.tenant.slug) return <p>{tenants.own}</p>
  const letIn = () =>
    run(async () => {
      await changeTenant(queries, tenant.id, { status: 'active' })
      showToast(tenants.saved(tenant.slug))
    })
  return (
    <>
      {problem && <ProblemNotice error={problem} title={problems.actionTitle} />}
      <Actions>
        {tenant.status === 'active' ? (
          <Button onPress={() => onDialog('suspend')} isDisabled={!online}>
            {tenants.suspend}
          </Button>
        ) : (
          <Button onPress={() => void letIn()} isPending={busy} isDisabled={!online}>
            {tenants.resume}
          </Button>
        )}
        <Button kind="danger" onPress={() => onDialog('remove')} isDisabled={!online}>
          {tenants.remove}
        </Button>
      </Actions>
    </>
  )
}

const pickValues = ({ name }: SchemaTenantView) => ({ name })

function NameForm({ tenant }: { tenant: Versioned<SchemaTenantView> }) {
  const { common, problems, tenants } = useMessages()
  const queries = useQueryClient()
  const online = useOnline()
  const form = useVersionedForm({
    stored: tenant,
    pick: pickValues,
    refresh: () => queries.invalidateQueries({ queryKey: ['tenants'] }),
    send: async (changes, etag) => {
      await changeTenant(queries, tenant.id, changes, etag)
      await Promise.all(['tenant', 'me'].map((name) => queries.invalidateQueries({ queryKey: [name] })))
      showToast(tenants.saved(tenant.slug))
    },
  })
  const { problem } = form
  return (
    <Form
      onSubmit={(event) => {
        event.preventDefault()
        void form.save()
      }}
      {...(problem && { validationErrors: problem.fields })}
    >
      <Field
        name="name"
        label={tenants.form.name}
        value={form.values.name}
        onChange={(name) => form.set('name', name)}
        isRequired
        maxLength={200}
      />
      {problem && Object.keys(problem.fields).length === 0 && <ProblemNotice error={problem} title={problems.actionTitle} />}
      <ConflictNotice form={form} label={() => tenants.form.name} />
      {!form.conflict && (
        <Actions>
          <Button kind="primary" type="submit" isDisabled={!form.isChanged || !online} isPending={form.busy}>
            {common.save}
          </Button>
        </Actions>
      )}
    </Form>
  )
}
