import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { useMe } from '../../api/queries.ts'
import type { SchemaUserView } from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import { Actions, Facts, Section } from '../../components/Facts.tsx'
import { Field, SelectField } from '../../components/Field.tsx'
import { ProblemNotice, useOnline } from '../../components/States.tsx'
import { StatusBadge } from '../../components/StatusBadge.tsx'
import { Time } from '../../components/Time.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useAction } from '../../components/useAction.ts'
import { useMessages } from '../../messages/index.tsx'
import { changeUser } from './queries.ts'
import { SYSTEM_ROLES } from './route.ts'
import { SignInLink } from './SignInLink.tsx'

interface UserGeneralProps {
  user: SchemaUserView
  onDialog: (name: 'suspend' | 'remove') => void
}

/** Name, system role and what ends a person's access. */
export function UserGeneral({ user, onDialog }: UserGeneralProps) {
  const { problems, users } = useMessages()
  const queries = useQueryClient()
  const online = useOnline()
  const resume = useAction()
  const letIn = () =>
    resume.run(async () => {
      await changeUser(queries, user.id, { status: 'active' })
      showToast(users.saved(user.email))
    })
  return (
    <>
      <UserForm key={`${user.name} ${user.system_role}`} user={user} />
      <Facts
        facts={[
          [
            users.columns.status,
            <StatusBadge key="status" tone={user.status === 'active' ? 'ok' : 'warn'} text={users.statuses[user.status]} />,
          ],
          [users.form.email, user.email],
          [users.columns.created, <Time key="created" at={user.created_at} />],
        ]}
      />
      <Section title={users.link.title} help={users.link.help}>
        <SignInLink userId={user.id} />
      </Section>
      {resume.problem && <ProblemNotice error={resume.problem} title={problems.actionTitle} />}
      <Actions>
        {user.status === 'active' ? (
          <Button onPress={() => onDialog('suspend')} isDisabled={!online}>
            {users.suspend}
          </Button>
        ) : (
          <Button onPress={() => void letIn()} isPending={resume.busy} isDisabled={!online}>
            {users.resume}
          </Button>
        )}
        <Button kind="danger" onPress={() => onDialog('remove')} isDisabled={!online}>
          {users.remove}
        </Button>
      </Actions>
    </>
  )
}

function UserForm({ user }: { user: SchemaUserView }) {
  const { common, problems, users } = useMessages()
  const queries = useQueryClient()
  const me = useMe()
  const { busy, problem, run } = useAction()
  const [name, setName] = useState(user.name)
  const [role, setRole] = useState(user.system_role)
  const changed = name !== user.name || role !== user.system_role
  const save = () =>
    run(async () => {
      const body = { ...(name !== user.name && { name }), ...(role !== user.system_role && { system_role: role }) }
      await changeUser(queries, user.id, body)
      if (user.id === me.id) await queries.invalidateQueries({ queryKey: ['me'] })
      showToast(users.saved(user.email))
    })
  return (
    <Form
      onSubmit={(event) => {
        event.preventDefault()
        void save()
      }}
      {...(problem && { validationErrors: problem.fields })}
    >
      <Section title={users.tabs.general}>
        <Field name="name" label={users.form.name} value={name} onChange={setName} maxLength={200} />
        <SelectField
          name="system_role"
          label={users.form.systemRole}
          help={users.form.systemRoleHelp}
          value={role}
          onChange={setRole}
          choices={SYSTEM_ROLES.map((value) => ({ value, label: users.systemRoles[value] }))}
        />
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
