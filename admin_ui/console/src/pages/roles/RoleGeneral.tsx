import { useQueryClient } from '@tanstack/react-query'
import { Form } from 'react-aria-components'
import { api, read } from '../../api/client.ts'
import type { SchemaRoleView } from '../../api/schema.d.ts'
import { expect, type Versioned } from '../../api/versions.ts'
import { Button } from '../../components/Button.tsx'
import { ConflictNotice } from '../../components/ConflictNotice.tsx'
import { Actions, Section } from '../../components/Facts.tsx'
import { Field } from '../../components/Field.tsx'
import { ProblemNotice, useOnline } from '../../components/States.tsx'
import { showToast } from '../../components/toasts.tsx'
import { ToolExposureField, trimExposure } from '../../components/ToolExposureField.tsx'
import { useVersionedForm } from '../../components/useVersionedForm.ts'
import { useMessages } from '../../messages/index.tsx'
import { PriorityField } from './RoleForm.tsx'

interface RoleGeneralProps {
  role: Versioned<SchemaRoleView>
  onDialog: (name: 'copy' | 'remove') => void
}

/** Name and priority of a role, how it shows tools, and what makes or ends one. */
export function RoleGeneral({ role, onDialog }: RoleGeneralProps) {
  const { roles } = useMessages()
  const online = useOnline()
  return (
    <>
      <NameForm role={role} />
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

const pickValues = ({ name, priority, tool_exposure }: SchemaRoleView) => ({ name, priority: String(priority), tool_exposure })

function NameForm({ role }: { role: Versioned<SchemaRoleView> }) {
  const { common, problems, roles, toolExposure } = useMessages()
  const queries = useQueryClient()
  const refresh = async () => {
    await Promise.all([queries.invalidateQueries({ queryKey: ['roles'] }), queries.invalidateQueries({ queryKey: ['users'] })])
  }
  const form = useVersionedForm({
    stored: role,
    pick: pickValues,
    refresh,
    send: async ({ name, priority, tool_exposure }, etag) => {
      const body = {
        ...(name !== undefined && { name }),
        ...(priority !== undefined && { priority: Number(priority) }),
        ...(tool_exposure !== undefined && { tool_exposure: trimExposure(tool_exposure) }),
      }
      await read(api.PATCH('/api/v1/roles/{role_id}', { params: { path: { role_id: role.id }, header: expect(etag) }, body }))
      await refresh()
      showToast(roles.saved(name ?? role.name))
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
      <Section title={roles.tabs.general}>
        <Field
          name="name"
          label={roles.form.name}
          value={form.values.name}
          onChange={(name) => form.set('name', name)}
          isRequired
          maxLength={100}
        />
        <PriorityField value={form.values.priority} onChange={(priority) => form.set('priority', priority)} />
        <ToolExposureField
          of="role"
          value={form.values.tool_exposure}
          onChange={(exposure) => form.set('tool_exposure', exposure)}
        />
        {problem && Object.keys(problem.fields).length === 0 && <ProblemNotice error={problem} title={problems.actionTitle} />}
        <ConflictNotice form={form} label={(name) => (name === 'tool_exposure' ? toolExposure.label : roles.form[name])} />
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
