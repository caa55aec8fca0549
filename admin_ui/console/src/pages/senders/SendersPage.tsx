import { useQuery, useQueryClient } from '@tanstack/react-query'
import { api, read } from '../../api/client.ts'
import type { SchemaNotificationSenderView } from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import { Card, Loaded } from '../../components/Card.tsx'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { Actions, Facts } from '../../components/Facts.tsx'
import { PageHead } from '../../components/ListTools.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { useOnline } from '../../components/States.tsx'
import { StatusBadge } from '../../components/StatusBadge.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useMessages } from '../../messages/index.tsx'
import { NEW_MAIL, MailForm } from './MailForm.tsx'
import { senderQuery, sendersQuery } from './queries.ts'
import { SENDER_KINDS, type SenderKind, sendersRoute } from './route.ts'
import { NEW_WEBHOOK, WebhookForm } from './WebhookForm.tsx'

type Sender = SchemaNotificationSenderView

const OF_DIALOG = ['remove'] as const
const FACTS = ['server', 'port', 'security', 'user', 'sender', 'url'] as const

/** The mail server and the webhook of the deployment. */
export function SendersPage() {
  const { senders } = useMessages()
  const query = useQuery(sendersQuery)
  const { remove } = sendersRoute.useSearch()
  const { close } = useOverlay(OF_DIALOG)
  return (
    <>
      <PageHead title={senders.title} />
      <p>{senders.help}</p>
      {SENDER_KINDS.map((kind) => (
        <Card key={kind} title={senders.kinds[kind]} help={senders.helpOf[kind]}>
          <Loaded query={query}>{(items) => <SenderOfKind kind={kind} items={items.filter((one) => one.kind === kind)} />}</Loaded>
        </Card>
      ))}
      {remove && <RemoveSender sender={query.data?.find(({ kind, source }) => kind === remove && source === 'database')} onClose={close} />}
    </>
  )
}

/** What counts for a kind: the sender of the file, else the stored one, else none. */
function SenderOfKind({ kind, items }: { kind: SenderKind; items: Sender[] }) {
  const { senders, trials } = useMessages()
  const ofFile = items.find(({ source }) => source === 'file')
  const stored = items.find(({ source }) => source === 'database')
  return (
    <>
      <Facts
        facts={[
          [
            senders.from,
            ofFile || stored ? (
              <span key="from">
                <StatusBadge tone="ok" text={senders.inUse} /> {trials.sources[ofFile ? 'file' : 'database']}
              </span>
            ) : (
              <StatusBadge key="from" tone="none" text={senders.none} />
            ),
          ],
        ]}
      />
      {ofFile ? <SenderOfFile sender={ofFile} /> : <SenderForm kind={kind} isStored={stored !== undefined} />}
      {ofFile && stored && <p>{senders.hiddenText}</p>}
      {stored && <RemoveButton kind={kind} />}
    </>
  )
}

function SenderOfFile({ sender }: { sender: Sender }) {
  const { senders } = useMessages()
  const facts = FACTS.filter((name) => sender[name] !== '' && sender[name] !== null)
  return (
    <>
      <p>{senders.ofFile}</p>
      <Facts facts={facts.map((name) => [senders.fields[name], String(sender[name])])} />
    </>
  )
}

function SenderForm({ kind, isStored }: { kind: SenderKind; isStored: boolean }) {
  const query = useQuery({ ...senderQuery(kind), enabled: isStored })
  if (!isStored) return kind === 'mail' ? <MailForm stored={NEW_MAIL} /> : <WebhookForm stored={NEW_WEBHOOK} />
  return (
    <Loaded query={query}>
      {(stored) => (kind === 'mail' ? <MailForm stored={stored} /> : <WebhookForm stored={stored} />)}
    </Loaded>
  )
}

function RemoveButton({ kind }: { kind: SenderKind }) {
  const { senders } = useMessages()
  const online = useOnline()
  const { open } = useOverlay(OF_DIALOG)
  return (
    <Actions>
      <Button kind="danger" isDisabled={!online} onPress={() => open({ remove: kind })}>
        {senders.remove[kind]}
      </Button>
    </Actions>
  )
}

function RemoveSender({ sender, onClose }: { sender: Sender | undefined; onClose: () => void }) {
  const { senders } = useMessages()
  const queries = useQueryClient()
  if (!sender) return null
  const name = sender.kind === 'mail' ? sender.server : new URL(sender.url).host
  const remove = async () => {
    const params = { path: { sender_kind: sender.kind } }
    await read(api.DELETE('/api/v1/deployment/notification-senders/{sender_kind}', { params }))
    onClose()
    showToast(senders.removed(name))
    queries.removeQueries({ queryKey: ['senders', sender.kind] })
    await queries.invalidateQueries({ queryKey: ['senders'] })
  }
  return (
    <ConfirmDestroy
      title={senders.removeTitle(name)}
      confirm={senders.remove[sender.kind]}
      typed={name}
      onConfirm={remove}
      onClose={onClose}
    >
      <p>{senders.removeText}</p>
    </ConfirmDestroy>
  )
}
