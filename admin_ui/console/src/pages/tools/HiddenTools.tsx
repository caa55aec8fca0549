import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { ChevronDown, ChevronRight } from 'lucide-react'
import { api, read } from '../../api/client.ts'
import { useMe } from '../../api/queries.ts'
import type { SchemaAccessRequestView, SchemaToolView } from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import { KindTag } from '../../components/KindTag.tsx'
import { Localized, useLocalized } from '../../components/Localized.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { ProblemNotice, Skeleton } from '../../components/States.tsx'
import { StatusBadge } from '../../components/StatusBadge.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useAction } from '../../components/useAction.ts'
import { useMessages } from '../../messages/index.tsx'
import { ownRequestsQuery, toolsQuery } from './queries.ts'
import { toolsRoute } from './route.ts'
import styles from './tools.module.css'

/** The tools that the person may not use, folded; where the tenant tells of them. */
export function HiddenTools({ q, count }: { q: string; count: number | undefined }) {
  const { tools } = useMessages()
  const me = useMe()
  const { hidden } = toolsRoute.useSearch()
  const navigate = useNavigate({ from: '/tools' })
  if (!me.tenant.shows_hidden_tools || count === 0) return null
  const Chevron = hidden ? ChevronDown : ChevronRight
  const toggle = () =>
    void navigate({ search: (before) => ({ ...before, hidden: hidden ? undefined : '1' }), replace: true, resetScroll: false })
  return (
    <section className={styles.hidden}>
      <h2 className={styles.moduleTitle}>
        <button type="button" data-row className={styles.toggle} aria-expanded={hidden !== undefined} onClick={toggle}>
          <Chevron size={16} aria-hidden />
          {q || count === undefined ? tools.hiddenMatching : tools.hidden(count)}
        </button>
      </h2>
      {hidden && <HiddenList q={q} />}
    </section>
  )
}

function HiddenList({ q }: { q: string }) {
  const { common, tools } = useMessages()
  const me = useMe()
  const list = useInfiniteQuery(toolsQuery({ q, permitted: false }))
  const requests = useQuery(ownRequestsQuery)
  if (list.isPending) return <Skeleton lines={6} />
  if (list.error) return <ProblemNotice error={list.error} onRetry={() => void list.refetch()} />
  const items = list.data.pages.flatMap((page) => page.items)
  if (items.length === 0) return <p className={styles.about}>{q ? common.nothingMatches(q) : common.none}</p>
  const asks = me.tenant.accepts_access_requests
  return (
    <>
      <p className={styles.about}>{asks ? tools.hiddenHelp : tools.hiddenHelpNoRequests}</p>
      <ul aria-label={tools.hiddenMatching} className={styles.tools}>
        {items.map((tool) => (
          <HiddenRow
            key={`${tool.module}.${tool.name}`}
            tool={tool}
            asks={asks}
            request={findRequest(requests.data ?? [], tool)}
          />
        ))}
      </ul>
      {list.hasNextPage && (
        <div className={styles.more}>
          <Button isPending={list.isFetchingNextPage} onPress={() => void list.fetchNextPage()}>
            {common.loadMore}
          </Button>
        </div>
      )}
    </>
  )
}

interface HiddenRowProps {
  tool: SchemaToolView
  asks: boolean
  request: SchemaAccessRequestView | undefined
}

function HiddenRow({ tool, asks, request }: HiddenRowProps) {
  const { tools } = useMessages()
  const localized = useLocalized()
  const { open } = useOverlay([])
  const ask = request?.state === 'declined' ? tools.requestAgain : tools.request
  return (
    <li className={styles.tool}>
      <div className={styles.toolText}>
        <p className={styles.toolHead}>
          <span className={styles.unavailable} dir="auto">
            <Localized text={tool.title} />
          </span>
          <code className={styles.code}>
            {tool.module}.{tool.name}
          </code>
          <KindTag kind={tool.kind} />
        </p>
        {request?.state === 'declined' && (
          <p className={styles.toolAbout} dir="auto">
            {tools.declined(request.decided_by)}
            {request.reason && ` ${request.reason}`}
          </p>
        )}
      </div>
      {asks && request?.state === 'open' && <OpenRequest request={request} title={localized(tool.title)} />}
      {asks && request?.state !== 'open' && (
        <Button
          aria-label={tools.requestTool(ask, localized(tool.title))}
          onPress={() => open({ request: `${tool.module}.${tool.name}` })}
        >
          {ask}
        </Button>
      )}
    </li>
  )
}

function OpenRequest({ request, title }: { request: SchemaAccessRequestView; title: string }) {
  const { problems, tools } = useMessages()
  const queries = useQueryClient()
  const { busy, problem, run } = useAction()
  const withdraw = () =>
    run(async () => {
      const params = { path: { request_id: request.id } }
      await read(api.DELETE('/api/v1/access-requests/{request_id}', { params }))
      const refresh = () => queries.invalidateQueries({ queryKey: ['access-requests'] })
      await refresh()
      showToast(tools.withdrawn, async () => {
        const { module, tool, message } = request
        await read(api.POST('/api/v1/access-requests', { body: { module, tool, message } }))
        await refresh()
      })
    })
  return (
    <div className={styles.requested}>
      <StatusBadge tone="info" text={tools.requested} />
      <Button kind="quiet" isPending={busy} onPress={() => void withdraw()} aria-label={tools.withdrawTool(title)}>
        {tools.withdraw}
      </Button>
      {problem && <ProblemNotice error={problem} title={problems.actionTitle} />}
    </div>
  )
}

/** The newest request for a tool, or for its whole module. */
function findRequest(requests: readonly SchemaAccessRequestView[], tool: SchemaToolView): SchemaAccessRequestView | undefined {
  return requests.find(
    (request) =>
      request.module === tool.module &&
      (request.tool === tool.name || request.tool === '') &&
      (request.state === 'open' || request.state === 'declined'),
  )
}
