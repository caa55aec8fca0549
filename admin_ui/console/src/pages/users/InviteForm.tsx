import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import { Button } from '../../components/Button.tsx'
import { Field, SelectField } from '../../components/Field.tsx'
import { ModalForm } from '../../components/ModalForm.tsx'
import overlay from '../../components/Overlay.module.css'
import { useMessages } from '../../messages/index.tsx'
import { SYSTEM_ROLES } from './route.ts'
import { SignInLink } from './SignInLink.tsx'

/** Makes a user, whom the allow list lets in from then on. */
export function InviteForm({ onClose }: { onClose: () => void }) {
  const { common, users } = useMessages()
  const { form } = users
  const queries = useQueryClient()
  const [made, setMade] = useState<{ id: string; email: string } | null>(null)
  const invite = async (data: FormData) => {
    const body = {
      email: String(data.get('email')).trim(),
      name: String(data.get('name')).trim(),
      system_role: data.get('system_role') === 'admin' ? ('admin' as const) : ('user' as const),
    }
    const user = await read(api.POST('/api/v1/users', { body }))
    await queries.invalidateQueries({ queryKey: ['users'] })
    setMade(user)
  }
  return (
    <ModalForm
      title={made ? form.done : users.invite}
      submit={form.submit}
      onClose={onClose}
      onSubmit={invite}
      result={
        made && (
          <>
            <p>{form.doneText(made.email)}</p>
            <SignInLink userId={made.id} />
            <p>{form.rolesNext}</p>
            <div className={overlay.actions}>
              <Link to="/users" search={{ id: made.id, tab: 'roles' }}>
                {form.giveRoles}
              </Link>
              <Button kind="primary" onPress={onClose}>
                {common.close}
              </Button>
            </div>
          </>
        )
      }
    >
      <Field name="email" type="email" label={form.email} help={form.emailHelp} isRequired autoFocus maxLength={320} />
      <Field name="name" label={form.name} maxLength={200} />
      <SelectField
        name="system_role"
        label={form.systemRole}
        help={form.systemRoleHelp}
        defaultValue="user"
        choices={SYSTEM_ROLES.map((value) => ({ value, label: users.systemRoles[value] })).reverse()}
      />
    </ModalForm>
  )
}
