import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Form } from 'react-aria-components'
import { api, read } from '../../../api/client.ts'
import { meQuery, useMe } from '../../../api/queries.ts'
import type { SchemaTenantView } from '../../../api/schema.d.ts'
import { expect, type Versioned } from '../../../api/versions.ts'
import { Button } from '../../../components/Button.tsx'
import { Card, Loaded } from '../../../components/Card.tsx'
import { ConflictNotice } from '../../../components/ConflictNotice.tsx'
import { Actions } from '../../../components/Facts.tsx'
import { Field } from '../../../components/Field.tsx'
import { ProblemNotice, useOnline } from '../../../components/States.tsx'
import { useVersionedForm } from '../../../components/useVersionedForm.ts'
import { useMessages } from '../../../messages/index.tsx'
import styles from './guided.module.css'
import { tenantQuery } from './queries.ts'
import { isNamed } from './steps.ts'

/** The names of the company and of the person. */
export function NameStep() {
  const { guidedStart } = useMessages()
  const query = useQuery(tenantQuery)
  return (
    <Card title={guidedStart.nameTitle} help={guidedStart.nameHelp}>
      <Loaded query={query}>{(tenant) => <NameForm tenant={tenant} />}</Loaded>
    </Card>
  )
}

function NameForm({ tenant }: { tenant: Versioned<SchemaTenantView> }) {
  const { common, guidedStart, problems } = useMessages()
  const { fields } = guidedStart
  const me = useMe()
  const queries = useQueryClient()
  const navigate = useNavigate({ from: '/' })
  const online = useOnline()
  const refresh = () => queries.invalidateQueries({ queryKey: tenantQuery.queryKey })
  const form = useVersionedForm({
    stored: tenant,
    pick: (body) => ({ company: isNamed(body) ? body.name : '', person: me.name }),
    refresh,
    send: async ({ company, person }, etag) => {
      const header = expect(etag)
      if (company !== undefined) await read(api.PATCH('/api/v1/tenant', { body: { name: company }, params: { header } }))
      if (person !== undefined) await read(api.PATCH('/api/v1/me', { body: { name: person } }))
      await Promise.all([refresh(), queries.invalidateQueries({ queryKey: meQuery.queryKey })])
      await navigate({ search: { start: 'next' } })
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
      {...(problem && { validationErrors: { ...problem.fields, ...(problem.fields['name'] && { company: problem.fields['name'] }) } })}
    >
      <Field
        name="company"
        label={fields.company}
        help={guidedStart.companyHelp}
        value={values.company}
        onChange={(name) => form.set('company', name)}
        maxLength={200}
        isRequired
        autoComplete="organization"
      />
      <Field
        name="person"
        label={fields.person}
        value={values.person}
        onChange={(name) => form.set('person', name)}
        maxLength={200}
        isRequired
        autoComplete="name"
      />
      {problem && Object.keys(problem.fields).length === 0 && <ProblemNotice error={problem} title={problems.actionTitle} />}
      <ConflictNotice form={form} label={(name) => fields[name]} show={(_, value) => String(value)} />
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
