import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaAccessRequestView } from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { ItemList, Section } from '../../components/Facts.tsx'
import { FindBox } from '../../components/FindBox.tsx'
import { ProblemNotice, Skeleton, useOnline } from '../../components/States.tsx'
import { useAction } from '../../components/useAction.ts'
import { useMessages } from '../../messages/index.tsx'
import { type Target, useApprove } from './approve.ts'
import { fittingRolesQuery } from './queries.ts'

/** Approval with one click into a role that permits it; or into another one, which then is changed for all its people. */
export function ApproveSection({ request }: { request: SchemaAccessRequestView }) {
  const { problems, requests } = useMessages()
  const roles = useQuery(fittingRolesQuery(request.id))
  const online = useOnline()
  const { busy, problem, run } = useAction()
  const [asked, setAsked] = useState<Target | null>(null)
  const approve = useApprove(request)
  return (
    <Section title={requests.approveTitle} help={requests.approveHelp}>
      {roles.error && <ProblemNotice error={roles.error} onRetry={() => void roles.refetch()} />}
      {roles.isPending && <Skeleton lines={2} />}
      {roles.data && (
        <ItemList
          label={requests.fittingRoles}
          items={roles.data.items}
          itemKey={(role) => role.id}
          title={(role) => role.name}
          detail={(role) => requests.people(role.members)}
          end={(role) => (
            <Button
              isPending={busy}
              isDisabled={!online}
              aria-label={requests.approveInto(role.name)}
              onPress={() => void run(() => approve(role, false))}
            >
              {requests.approve}
            </Button>
          )}
          empty={requests.noFittingRole}
        />
      )}
      {problem && <ProblemNotice error={problem} title={problems.actionTitle} />}
      <FindBox label={requests.otherRole} resource="roles" find={findRoles} onChoose={(found) => setAsked(toTarget(found))} />
      {asked && (
        <ConfirmDestroy
          title={requests.changeRoleTitle(asked.name)}
          confirm={requests.changeRole}
          typed={null}
          onConfirm={() => approve(asked, true)}
          onClose={() => setAsked(null)}
        >
          <p>{requests.changeRoleText(`${request.module}.${request.tool || '*'}`, asked.name)}</p>
        </ConfirmDestroy>
      )}
    </Section>
  )
}

async function findRoles(words: string) {
  const { items } = await read(api.GET('/api/v1/roles', { params: { query: { q: words, limit: 20 } } }))
  return items.map((role) => ({ id: role.id, text: role.name }))
}

function toTarget(found: { id: string; text: string }): Target {
  return { id: found.id, name: found.text, members: 0 }
}
