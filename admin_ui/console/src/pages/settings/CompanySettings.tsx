import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Form } from 'react-aria-components'
import { api, read, readVersioned } from '../../api/client.ts'
import type { SchemaTenantView } from '../../api/schema.d.ts'
import { expect, type Versioned } from '../../api/versions.ts'
import { Button } from '../../components/Button.tsx'
import { Card, Loaded } from '../../components/Card.tsx'
import { ConflictNotice } from '../../components/ConflictNotice.tsx'
import { Actions } from '../../components/Facts.tsx'
import { Checkbox, Field } from '../../components/Field.tsx'
import { ProblemNotice, useOnline } from '../../components/States.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useVersionedForm } from '../../components/useVersionedForm.ts'
import { useMessages } from '../../messages/index.tsx'
import styles from './settings.module.css'

const SWITCHES = ['accepts_access_requests', 'shows_hidden_tools', 'record_arguments'] as const

/** Name and policies of the tenant. */
export function CompanySettings() {
  const { settings } = useMessages()
  const query = useQuery({ queryKey: ['tenant'], queryFn: () => readVersioned(api.GET('/api/v1/tenant', {})) })
  return (
    <Card title={settings.views.company} help={settings.companyHelp}>
      <Loaded query={query}>{(tenant) => <TenantForm tenant={tenant} />}</Loaded>
    </Card>
  )
}

const pickValues = ({ name, max_token_lifetime_days: days, ...tenant }: SchemaTenantView) => ({
  name,
  max_token_lifetime_days: days === null ? '' : String(days),
  accepts_access_requests: tenant.accepts_access_requests,
  shows_hidden_tools: tenant.shows_hidden_tools,
  record_arguments: tenant.record_arguments,
})

function TenantForm({ tenant }: { tenant: Versioned<SchemaTenantView> }) {
  const { common, problems, settings } = useMessages()
  const { fields } = settings
  const queries = useQueryClient()
  const online = useOnline()
  const refresh = async () => {
    await Promise.all(['tenant', 'me'].map((name) => queries.invalidateQueries({ queryKey: [name] })))
  }
  const form = useVersionedForm({
    stored: tenant,
    pick: pickValues,
    refresh,
    send: async ({ max_token_lifetime_days: days, ...changes }, etag) => {
      const body = { ...changes, ...(days !== undefined && { max_token_lifetime_days: days === '' ? null : Number(days) }) }
      await read(api.PATCH('/api/v1/tenant', { body, params: { header: expect(etag) } }))
      await refresh()
      showToast(common.saved)
    },
  })
  const { problem, values } = form
  return (
    <Form
      className={styles.form!}
      onSubmit={(event) => {
        event.preventDefault()
        void form.save()
      }}
      {...(problem && { validationErrors: problem.fields })}
    >
      <Field name="name" label={fields.name} value={values.name} onChange={(name) => form.set('name', name)} maxLength={200} />
      <Field
        name="max_token_lifetime_days"
        label={fields.max_token_lifetime_days}
        help={settings.lifetimeHelp}
        value={values.max_token_lifetime_days}
        onChange={(days) => form.set('max_token_lifetime_days', days)}
        inputMode="numeric"
        pattern="[0-9]{1,5}"
      />
      {SWITCHES.map((name) => (
        <div key={name}>
          <Checkbox isSelected={values[name]} onChange={(on) => form.set(name, on)}>
            {fields[name]}
          </Checkbox>
          <p className={styles.help}>{settings.switchHelp[name]}</p>
        </div>
      ))}
      {problem && Object.keys(problem.fields).length === 0 && <ProblemNotice error={problem} title={problems.actionTitle} />}
      <ConflictNotice form={form} label={(name) => fields[name]} show={(_, value) => showValue(value, settings)} />
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

function showValue(value: unknown, { on, off }: { on: string; off: string }): string {
  if (typeof value === 'boolean') return value ? on : off
  return value === '' || value === undefined ? '–' : String(value)
}
