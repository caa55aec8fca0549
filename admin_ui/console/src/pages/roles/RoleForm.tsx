import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { api, read } from '../../api/client.ts'
import type { SchemaRoleView } from '../../api/schema.d.ts'
import { Field } from '../../components/Field.tsx'
import { ModalForm } from '../../components/ModalForm.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useMessages } from '../../messages/index.tsx'

interface RoleFormProps {
  /** The role whose permissions the new one gets. */
  source?: SchemaRoleView
  onClose: () => void
}

/** Makes a role, or a copy of one. */
export function RoleForm({ source, onClose }: RoleFormProps) {
  const { roles } = useMessages()
  const { form } = roles
  const queries = useQueryClient()
  const navigate = useNavigate({ from: '/roles' })
  const create = async (data: FormData) => {
    const body = {
      name: String(data.get('name')).trim(),
      priority: Number(data.get('priority')),
      allow: source?.allow ?? [],
      deny: source?.deny ?? [],
      allow_unknown: source !== undefined,
      tool_exposure: source?.tool_exposure ?? null,
    }
    const role = await read(api.POST('/api/v1/roles', { body }))
    await queries.invalidateQueries({ queryKey: ['roles'] })
    showToast(roles.created(role.name))
    await navigate({ search: (before) => ({ ...before, dialog: undefined, id: role.id, tab: 'permissions' }), replace: true })
  }
  return (
    <ModalForm title={source ? roles.copyTitle(source.name) : roles.add} submit={form.submit} onClose={onClose} onSubmit={create}>
      {source && <p>{roles.copyHelp}</p>}
      <Field name="name" label={form.name} defaultValue={source && form.copyOf(source.name)} isRequired autoFocus maxLength={100} />
      <PriorityField defaultValue={String(source?.priority ?? 0)} />
    </ModalForm>
  )
}

interface PriorityFieldProps {
  defaultValue?: string
  value?: string
  onChange?: (value: string) => void
}

export function PriorityField(props: PriorityFieldProps) {
  const { form } = useMessages().roles
  return (
    <Field
      {...props}
      name="priority"
      label={form.priority}
      help={form.priorityHelp}
      inputMode="numeric"
      isRequired
      maxLength={8}
      validate={(text) => (/^-?\d{1,7}$/.test(text) && Math.abs(Number(text)) <= 1_000_000 ? null : form.priorityWrong)}
    />
  )
}
