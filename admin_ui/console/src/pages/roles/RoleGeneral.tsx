import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { api, read } from '../../api/client.ts'
import type { SchemaRoleView } from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import { Actions, Section } from '../../components/Facts.tsx'
import { Field } from '../../components/Field.tsx'
import { ProblemNotice, useOnline } from '../../components/States.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useAction } from '../../components/useAction.ts'
import { useMessages } from '../../messages/index.tsx'
import { PriorityField } from './RoleForm.tsx'

interface RoleGeneralProps {
  role: SchemaRoleView
  onDialog: (name: 'copy' | 'remove') => void
}

/** Name and priority of a role, and what makes or ends one. */
export function RoleGeneral({ role, onDialog }: RoleGeneralProps) {
  const { roles } = useMessages()
  const online = useOnline()
  return (
    <>
      <NameForm key={`${role.priority} ${role.name}`} role={role} />
      <Actions>
        <Button onPress={() => onDialog('copy')} isDisabled={!online}>
          {roles.copy}
        </Button>
        <Button kind="danger" onPress={() => onDialog('remove')} isDisabled={!online}>
          {roles.remove}
        </Button>
      </Actions>
    </>
  )
}

function NameForm({ role }: { role: SchemaRoleView }) {
  const { common, problems, roles } = useMessages()
  const queries = useQueryClient()
  const { busy, problem, run } = useAction()
  const [name, setName] = useState(role.name)
  const [priority, setPriority] = useState(String(role.priority))
  const changed = name !== role.name || priority !== String(role.priority)
  const save = () =>
    run(async () => {
      const body = { ...(name !== role.name && { name }), ...(priority !== String(role.priority) && { priority: Number(priority) }) }
      await read(api.PATCH('/api/v1/roles/{role_id}', { params: { path: { role_id: role.id } }, body }))
      await Promise.all([queries.invalidateQueries({ queryKey: ['roles'] }), queries.invalidateQueries({ queryKey: ['users'] })])
      showToast(roles.saved(name))
    })
  return (
    <Form
      onSubmit={(event) => {
        event.preventDefault()
        void save()
      }}
      {...(problem && { validationErrors: problem.fields })}
    >
      <Section title={roles.tabs.general}>
        <Field name="name" label={roles.form.name} value={name} onChange={setName} isRequired maxLength={100} />
        <PriorityField value={priority} onChange={setPriority} />
        {problem && Object.keys(problem.fields).length === 0 && <ProblemNotice error={problem} title={problems.actionTitle} />}
        <Actions>
          <Button kind="primary" type="submit" isDisabled={!changed} isPending={busy}>
            {common.save}
          </Button>
        </Actions>
      </Section>
    </Form>
  )
}
