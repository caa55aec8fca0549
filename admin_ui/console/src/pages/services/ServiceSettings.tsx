import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useMemo, useState } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaTenantServiceDetails } from '../../api/schema.d.ts'
import { expect, type Versioned } from '../../api/versions.ts'
import { Button } from '../../components/Button.tsx'
import { ConflictNotice } from '../../components/ConflictNotice.tsx'
import { Actions, Section } from '../../components/Facts.tsx'
import { ProblemNotice, useOnline } from '../../components/States.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useVersionedForm } from '../../components/useVersionedForm.ts'
import { useLanguage } from '../../messages/index.tsx'
import { listProperties } from '../../schema/schema.ts'
import { SchemaForm } from '../../schema/SchemaForm.tsx'
import { type SchemaErrors, validate } from '../../schema/validate.ts'
import { dropUnset, localizeSchema, readApiErrors, readSettings } from './settings.ts'

const NONE: SchemaErrors = new Map()

/** The settings of a service, drawn from the schema that its module has. */
export function ServiceSettings({ service }: { service: Versioned<SchemaTenantServiceDetails> }) {
  const { language, messages } = useLanguage()
  const { common, problems, schemas, services } = messages
  const queries = useQueryClient()
  const online = useOnline()
  const { module, title } = service
  const schema = useMemo(() => localizeSchema(service.settings_schema, language), [service.settings_schema, language])
  const [errors, setErrors] = useState<SchemaErrors>(NONE)
  const refresh = () => queries.invalidateQueries({ queryKey: ['services'] })
  const form = useVersionedForm({
    stored: service,
    pick: readSettings,
    refresh,
    send: async (settings, etag) => {
      await read(
        api.PATCH('/api/v1/services/{module}', { params: { path: { module }, header: expect(etag) }, body: { settings } }),
      )
      await refresh()
      showToast(services.settingsSaved(title))
    },
  })
  if (listProperties(schema).length === 0) return <p>{services.noSettings}</p>
  const values = dropUnset(form.values)
  const change = (next: Record<string, unknown>) => {
    const name = Object.keys(form.values).find((one) => next[one] !== values[one])
    if (name) form.set(name, next[name] ?? null)
    setErrors(NONE)
  }
  const save = (event: FormEvent) => {
    event.preventDefault()
    const found = validate(schema, values, schemas)
    setErrors(found)
    if (found.size === 0) void form.save()
  }
  const apiErrors = form.problem ? readApiErrors(form.problem.fields) : NONE
  return (
    <form onSubmit={save} noValidate>
      <Section title={services.tabs.settings} help={services.settingsHelp}>
        <SchemaForm schema={schema} value={values} onChange={change} errors={errors.size > 0 ? errors : apiErrors} titled />
        {form.problem && apiErrors.size === 0 && <ProblemNotice error={form.problem} title={problems.actionTitle} />}
        <ConflictNotice
          form={form}
          label={(name) => schema.properties?.[name]?.title ?? name}
          show={(_, value) => (value === null ? services.notSet : typeof value === 'string' ? value : JSON.stringify(value))}
        />
        {!form.conflict && (
          <Actions>
            <Button kind="primary" type="submit" isDisabled={!form.isChanged || !online} isPending={form.busy}>
              {common.save}
            </Button>
            {form.isChanged && <Button onPress={form.discard}>{common.discard}</Button>}
          </Actions>
        )}
      </Section>
    </form>
  )
}
