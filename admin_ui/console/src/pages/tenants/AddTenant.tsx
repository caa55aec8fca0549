import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import { Button } from '../../components/Button.tsx'
import { CopyField } from '../../components/CopyField.tsx'
import { Field } from '../../components/Field.tsx'
import { ModalForm } from '../../components/ModalForm.tsx'
import overlay from '../../components/Overlay.module.css'
import { useMessages } from '../../messages/index.tsx'

/** Makes a tenant with its first administrator, and says how they come in. */
export function AddTenant({ onClose }: { onClose: () => void }) {
  const { common, tenants } = useMessages()
  const { form } = tenants
  const queries = useQueryClient()
  const [made, setMade] = useState<{ slug: string; administrator: string } | null>(null)
  const add = async (data: FormData) => {
    const text = (name: string) => String(data.get(name)).trim()
    const body = { slug: text('slug'), name: text('name'), administrator: text('administrator') }
    await read(api.POST('/api/v1/tenants', { body }))
    await queries.invalidateQueries({ queryKey: ['tenants'] })
    setMade(body)
  }
  return (
    <ModalForm
      title={made ? form.done : tenants.add}
      submit={form.submit}
      onClose={onClose}
      onSubmit={add}
      result={
        made && (
          <>
            <p>{form.doneText(made.slug, made.administrator)}</p>
            <p>{form.link}</p>
            <CopyField label={form.command} value={`mcpist user link ${made.administrator} --tenant ${made.slug}`} />
            <div className={overlay.actions}>
              <Button kind="primary" onPress={onClose}>
                {common.close}
              </Button>
            </div>
          </>
        )
      }
    >
      <Field
        name="slug"
        label={form.slug}
        help={form.slugHelp}
        pattern="[a-z0-9]([a-z0-9\-]{0,61}[a-z0-9])?"
        isRequired
        autoFocus
        maxLength={63}
      />
      <Field name="name" label={form.name} maxLength={200} />
      <Field
        name="administrator"
        type="email"
        label={form.administrator}
        help={form.administratorHelp}
        isRequired
        maxLength={320}
      />
    </ModalForm>
  )
}
