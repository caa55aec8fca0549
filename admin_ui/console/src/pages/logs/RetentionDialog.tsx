import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, read, readVersioned } from '../../api/client.ts'
import type { SchemaDeploymentRetentionView, SchemaRetentionPreview } from '../../api/schema.d.ts'
import { expect, type Versioned } from '../../api/versions.ts'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { ConflictNotice } from '../../components/ConflictNotice.tsx'
import { Field } from '../../components/Field.tsx'
import { ModalForm } from '../../components/ModalForm.tsx'
import { ProblemNotice } from '../../components/States.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useVersionedForm } from '../../components/useVersionedForm.ts'
import { startOfDay } from '../../messages/format.ts'
import { useFormat, useMessages } from '../../messages/index.tsx'
import { RETENTION_KEY } from './queries.ts'
import { isShorter, readMonths } from './retention.ts'

const KEY = ['audit-retention'] as const

/** How long the logs of all tenants are kept, for the operator. */
export function RetentionDialog({ onClose }: { onClose: () => void }) {
  const { data, error, refetch } = useQuery({
    queryKey: KEY,
    queryFn: () => readVersioned(api.GET('/api/v1/deployment/audit-retention', {})),
  })
  if (data) return <RetentionForm stored={data} onClose={onClose} />
  return error && <ProblemNotice error={error} onRetry={() => void refetch()} />
}

interface RetentionFormProps {
  stored: Versioned<SchemaDeploymentRetentionView>
  onClose: () => void
}

/** What is deleted if so many months are kept; null stands for the default. */
interface Shortening {
  months: number
  preview: SchemaRetentionPreview
}

const pickValues = ({ stored_keep_months: months }: SchemaDeploymentRetentionView) => ({
  keep_months: months === null ? '' : String(months),
})

function RetentionForm({ stored, onClose }: RetentionFormProps) {
  const { common, logs } = useMessages()
  const { retention } = logs
  const queries = useQueryClient()
  const [shortening, setShortening] = useState<Shortening | null>(null)
  const refresh = async () => {
    await Promise.all([KEY, RETENTION_KEY].map((queryKey) => queries.invalidateQueries({ queryKey })))
  }
  const form = useVersionedForm({
    stored,
    pick: pickValues,
    refresh,
    send: async ({ keep_months }, etag) => {
      const months = readMonths(keep_months)
      const params = { header: expect(etag) }
      if (months === null) await read(api.DELETE('/api/v1/deployment/audit-retention', { params }))
      else await read(api.PUT('/api/v1/deployment/audit-retention', { body: { keep_months: months }, params }))
      onClose()
      showToast(retention.saved)
      await refresh()
    },
  })
  const submit = async () => {
    const months = readMonths(form.values.keep_months) ?? stored.default_keep_months
    if (months === null || !isShorter(months, stored.keep_months)) return form.save()
    const query = { keep_months: months }
    const preview = await read(api.GET('/api/v1/deployment/audit-retention/preview', { params: { query } }))
    setShortening({ months, preview })
  }
  const confirm = async () => {
    await form.save()
    setShortening(null) // where somebody else was faster, the form says so
  }
  if (shortening) return <ConfirmShortening {...shortening} onConfirm={confirm} onClose={() => setShortening(null)} />
  const { default_keep_months: most } = stored
  return (
    <ModalForm
      title={retention.title}
      submit={common.save}
      onClose={onClose}
      onSubmit={submit}
      problem={form.problem}
      hasConflict={form.conflict !== null}
      conflict={<ConflictNotice form={form} label={() => retention.months} />}
    >
      <p>{retention.scope}</p>
      <Field
        name="keep_months"
        label={retention.months}
        help={retention.help(most === null ? retention.everything : retention.monthCount(most))}
        value={form.values.keep_months}
        onChange={(months) => form.set('keep_months', months)}
        inputMode="numeric"
        pattern="[0-9]{1,4}"
        autoFocus
      />
    </ModalForm>
  )
}

interface ConfirmShorteningProps extends Shortening {
  onConfirm: () => Promise<void>
  onClose: () => void
}

/** What is deleted, by its days: they are typed. */
function ConfirmShortening({ months, preview, onConfirm, onClose }: ConfirmShorteningProps) {
  const { retention } = useMessages().logs
  const format = useFormat()
  const { first_kept_day: day } = preview
  const days = retention.dayCount(preview.days)
  const kept = retention.monthCount(months)
  return (
    <ConfirmDestroy
      title={retention.confirmTitle(kept)}
      confirm={retention.confirm}
      typed={day === null ? kept : days}
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <p>{day === null ? retention.losesNothing : retention.loses(days, format.date(startOfDay(day)))}</p>
    </ConfirmDestroy>
  )
}
