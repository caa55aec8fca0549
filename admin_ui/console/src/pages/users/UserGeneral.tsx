import { useQueryClient } from '@tanstack/react-query'
import { Form } from 'react-aria-components'
import { useMe } from '../../api/queries.ts'
import type { SchemaUserView } from '../../api/schema.d.ts'
import type { Versioned } from '../../api/versions.ts'
import { Button } from '../../components/Button.tsx'
import { ConflictNotice } from '../../components/ConflictNotice.tsx'
import { Actions, Facts, Section } from '../../components/Facts.tsx'
import { Field, SelectField } from '../../components/Field.tsx'
import { ProblemNotice, useOnline } from '../../components/States.tsx'
import { StatusBadge } from '../../components/StatusBadge.tsx'
import { Time } from '../../components/Time.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useAction } from '../../components/useAction.ts'
import { useVersionedForm } from '../../components/useVersionedForm.ts'
import { useMessages } from '../../messages/index.tsx'
import { changeUser } from './queries.ts'
import { SYSTEM_ROLES } from './route.ts'
import { SignInLink } from './SignInLink.tsx'

interface UserGeneralProps {
  user: Versioned<SchemaUserView>
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
      <UserForm user={user} />
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

const pickValues = ({ name, system_role }: SchemaUserView) => ({ name, system_role })

function UserForm({ user }: { user: Versioned<SchemaUserView> }) {
  const { common, problems, users } = useMessages()
  const queries = useQueryClient()
  const me = useMe()
  const form = useVersionedForm({
    stored: user,
    pick: pickValues,
    refresh: () => queries.invalidateQueries({ queryKey: ['users'] }),
    send: async (changes, etag) => {
      await changeUser(queries, user.id, changes, etag)
      if (user.id === me.id) await queries.invalidateQueries({ queryKey: ['me'] })
      showToast(users.saved(user.email))
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
      <Section title={users.tabs.general}>
        <Field
          name="name"
          label={users.form.name}
          value={form.values.name}
          onChange={(name) => form.set('name', name)}
          maxLength={200}
        />
        <SelectField
          name="system_role"
          label={users.form.systemRole}
          help={users.form.systemRoleHelp}
          value={form.values.system_role}
          onChange={(role) => form.set('system_role', role)}
          choices={SYSTEM_ROLES.map((value) => ({ value, label: users.systemRoles[value] }))}
        />
        {problem && Object.keys(problem.fields).length === 0 && <ProblemNotice error={problem} title={problems.actionTitle} />}
        <ConflictNotice
          form={form}
          label={(name) => (name === 'name' ? users.form.name : users.form.systemRole)}
          show={(name, value) => (name === 'system_role' ? users.systemRoles[value as 'admin' | 'user'] : String(value))}
        />
        {!form.conflict && (
          <Actions>
            <Button kind="primary" type="submit" isDisabled={!form.isChanged} isPending={form.busy}>
              {common.save}
            </Button>
          </Actions>
        )}
      </Section>
    </Form>
  )
}
