import { useQueryClient } from '@tanstack/react-query'
import { LogOut } from 'lucide-react'
import { api, read } from '../../api/client.ts'
import type { SchemaSessionView } from '../../api/schema.d.ts'
import { signOut } from '../../api/session.ts'
import { Button } from '../../components/Button.tsx'
import { Card } from '../../components/Card.tsx'
import { Actions } from '../../components/Facts.tsx'
import { PagedItems } from '../../components/PagedItems.tsx'
import { ProblemNotice } from '../../components/States.tsx'
import { StatusBadge } from '../../components/StatusBadge.tsx'
import { Time } from '../../components/Time.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useAction } from '../../components/useAction.ts'
import { usePagedList } from '../../components/usePagedList.ts'
import { useMessages } from '../../messages/index.tsx'

const PAGE = 50

/** The browsers that the person is signed in with. */
export function Browsers() {
  const { problems, profile } = useMessages()
  const queries = useQueryClient()
  const list = usePagedList(['sessions', 'own', 'list'], (cursor) =>
    read(api.GET('/api/v1/sessions', { params: { query: { limit: PAGE, ...(cursor && { cursor }) } } })),
  )
  const { busy, problem, run } = useAction()
  const end = (work: () => Promise<unknown>, done: string) =>
    void run(async () => {
      await work()
      await queries.invalidateQueries({ queryKey: ['sessions'] })
      showToast(done)
    })
  const endOne = (id: string) =>
    end(() => read(api.DELETE('/api/v1/sessions/{session_id}', { params: { path: { session_id: id } } })), profile.browserEnded)
  const endOthers = () =>
    end(() => read(api.DELETE('/api/v1/sessions', { params: { query: { keep_current: true } } })), profile.othersEnded)
  const endAll = () =>
    void run(async () => {
      await read(api.DELETE('/api/v1/sessions', {}))
      await signOut()
    })
  return (
    <Card title={profile.browsers} help={profile.browsersHelp}>
      <PagedItems
        label={profile.browsers}
        list={list}
        itemKey={(session) => session.id}
        title={(session) => <BrowserName session={session} />}
        detail={(session) => (
          <>
            {session.address && `${session.address} · `}
            {profile.lastSeen} <Time at={session.last_seen_at} /> · {profile.ends}{' '}
            <Time at={session.idle_expires_at} />
          </>
        )}
        end={(session) =>
          session.current ? (
            <StatusBadge tone="info" text={profile.thisBrowser} />
          ) : (
            <Button isPending={busy} onPress={() => endOne(session.id)}>
              {profile.signOut}
            </Button>
          )
        }
        empty={profile.noBrowsers}
      />
      {problem && <ProblemNotice error={problem} title={problems.actionTitle} />}
      <Actions>
        {list.rows.length > 1 && (
          <Button isPending={busy} onPress={endOthers}>
            {profile.signOutOthers}
          </Button>
        )}
        <Button kind="danger" icon={LogOut} isPending={busy} onPress={endAll}>
          {profile.signOutAll}
        </Button>
      </Actions>
    </Card>
  )
}

function BrowserName({ session }: { session: SchemaSessionView }) {
  const { profile } = useMessages()
  return <span title={session.user_agent}>{session.browser || session.user_agent || profile.unknownBrowser}</span>
}
