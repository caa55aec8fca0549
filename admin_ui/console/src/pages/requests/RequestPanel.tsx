import { useQuery, useQueryClient } from '@tanstack/react-query'
import { api, read } from '../../api/client.ts'
import type { SchemaAccessRequestView } from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import { DetailPanel } from '../../components/DetailPanel.tsx'
import { Actions, Facts, Section } from '../../components/Facts.tsx'
import { Field } from '../../components/Field.tsx'
import { KindTag } from '../../components/KindTag.tsx'
import { ModalForm } from '../../components/ModalForm.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { ProblemNotice, Skeleton, useOnline } from '../../components/States.tsx'
import { Time } from '../../components/Time.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useMessages } from '../../messages/index.tsx'
import { ApproveSection } from './ApproveSection.tsx'
import { reopen } from './approve.ts'
import { pathOf, requestQuery } from './queries.ts'
import { RequestBadge } from './RequestBadge.tsx'
import styles from './requests.module.css'
import { requestsRoute } from './route.ts'

const PANEL = ['id', 'dialog'] as const
const DIALOG = ['dialog'] as const

/** A request: who asks for what and why, the roles that would give it, and the decision. */
export function RequestPanel({ id }: { id: string }) {
  const { requests } = useMessages()
  const { close } = useOverlay(PANEL)
  const { data, error, refetch } = useQuery(requestQuery(id))
  return (
    <DetailPanel title={data?.email ?? requests.request} onClose={close}>
      <div className={styles.panel}>
        {error ? (
          <ProblemNotice error={error} onRetry={() => void refetch()} />
        ) : data ? (
          <RequestDetail request={data} />
        ) : (
          <Skeleton lines={5} />
        )}
      </div>
    </DetailPanel>
  )
}

function RequestDetail({ request }: { request: SchemaAccessRequestView }) {
  const { requests } = useMessages()
  const { dialog } = requestsRoute.useSearch()
  const decline = useOverlay(DIALOG)
  const online = useOnline()
  const isOpen = request.state === 'open'
  return (
    <>
      <Facts facts={listFacts(request, requests)} />
      {isOpen && <ApproveSection request={request} />}
      {isOpen && (
        <Section title={requests.declineTitle} help={requests.declineHelp}>
          <Actions>
            <Button kind="danger" isDisabled={!online} onPress={() => decline.open({ dialog: 'decline' })}>
              {requests.decline}
            </Button>
          </Actions>
        </Section>
      )}
      {isOpen && dialog === 'decline' && <DeclineForm request={request} onClose={decline.close} />}
    </>
  )
}

function listFacts(request: SchemaAccessRequestView, requests: ReturnType<typeof useMessages>['requests']) {
  return [
    [requests.columns.state, <RequestBadge key="state" state={request.state} />],
    [
      requests.columns.tool,
      <span key="tool">
        <code>{`${request.module}.${request.tool || '*'}`}</code> {request.kind && <KindTag kind={request.kind} />}
      </span>,
    ],
    [requests.columns.message, request.message || requests.noMessage],
    [requests.columns.created, <Time key="created" at={request.created_at} />],
    ...(request.decided_at ? [[requests.decidedAt, <Time key="decided" at={request.decided_at} />] as const] : []),
    ...(request.decided_by ? [[requests.decidedBy, request.decided_by] as const] : []),
    ...(request.role ? [[requests.role, request.role] as const] : []),
    ...(request.reason ? [[requests.reason, request.reason] as const] : []),
  ] as const
}

function DeclineForm({ request, onClose }: { request: SchemaAccessRequestView; onClose: () => void }) {
  const { requests } = useMessages()
  const queries = useQueryClient()
  const send = async (data: FormData) => {
    const body = { reason: String(data.get('reason') ?? '') }
    await read(api.POST('/api/v1/access-requests/{request_id}/refusal', { params: pathOf(request.id), body }))
    const refresh = () => queries.invalidateQueries({ queryKey: ['access-requests'] })
    await refresh()
    showToast(requests.declined(request.email), async () => {
      await reopen(request)
      await refresh()
    })
    onClose()
  }
  return (
    <ModalForm title={requests.declineOf(request.email)} submit={requests.decline} onClose={onClose} onSubmit={send}>
      <Field label={requests.reason} help={requests.reasonHelp} name="reason" long maxLength={500} autoFocus />
    </ModalForm>
  )
}
