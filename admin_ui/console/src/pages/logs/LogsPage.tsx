import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Radio, ShieldCheck } from 'lucide-react'
import { useCallback, useMemo } from 'react'
import { personQuery } from '../../api/people.ts'
import { hasRight, useMe } from '../../api/queries.ts'
import type { SchemaAuditItemView } from '../../api/schema.d.ts'
import { useLiveState } from '../../app/live.ts'
import { useShortcut } from '../../app/shortcuts.tsx'
import { ActionMenu } from '../../components/ActionMenu.tsx'
import { Button } from '../../components/Button.tsx'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { FilterPills, PageHead, type Pill } from '../../components/ListTools.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { SearchLine } from '../../components/SearchLine.tsx'
import { Empty, Skeleton } from '../../components/States.tsx'
import { StatusBadge } from '../../components/StatusBadge.tsx'
import { usePagedList } from '../../components/usePagedList.ts'
import { useSearchOn } from '../../components/useSearchOn.ts'
import { type Messages, useFormat, useMessages } from '../../messages/index.tsx'
import { DaysForm } from './DaysForm.tsx'
import { buildExportUrl, type LogFilters, type LogSort, readOrder } from './filters.ts'
import { LogBadge, nameEntry } from '../../components/LogBadge.tsx'
import { LogPanel } from './LogPanel.tsx'
import styles from './logs.module.css'
import { LogTools } from './LogTools.tsx'
import { fetchLogPage, logKey, PAGE } from './queries.ts'
import { RetentionDialog } from './RetentionDialog.tsx'
import { RetentionLine } from './RetentionLine.tsx'
import { logsRoute } from './route.ts'
import { useLiveTail } from './useLiveTail.ts'
import { VerifyDialog } from './VerifyDialog.tsx'

const DIALOG = ['dialog'] as const

/** What happened in the tenant, newest first unless the head of the column says otherwise. */
export function LogsPage() {
  const { logs } = useMessages()
  const format = useFormat()
  const { id, at, dialog, live: asked, ...rest } = logsRoute.useSearch()
  const filters = useStable(rest)
  const sort = readOrder(filters)
  const live = sort.descending ? asked : undefined
  const dialogs = useOverlay(DIALOG)
  const operates = hasRight(useMe(), 'operate')
  const set = useSetSearch()
  const list = usePagedList<SchemaAuditItemView>(logKey(filters), (cursor) => fetchLogPage(filters, cursor))
  const search = useSearchOn(list, filters, PAGE)
  const tail = useLiveTail(filters, list.rows, live !== undefined)
  // What is live comes before the newest: the order that shows it at the top comes back with it.
  const toggle = () => set(live ? { live: undefined } : { live: '1', sort: undefined })
  const changeSort = ({ descending }: LogSort) => set(descending ? { sort: undefined } : { sort: 'occurred_at', live: undefined })
  useShortcut('l', logs.live, toggle)
  const columns = useMemo(() => buildColumns(logs, format), [logs, format])
  const pills = usePills(filters, set)
  return (
    <>
      <PageHead title={logs.title}>
        <div className={styles.buttons}>
          <Button icon={Radio} aria-pressed={live !== undefined} onPress={toggle}>
            {live ? logs.stop : logs.live}
          </Button>
          <Button icon={ShieldCheck} onPress={() => dialogs.open({ dialog: 'verify' })}>
            {logs.verify}
          </Button>
          <ActionMenu
            label={logs.export}
            actions={(['csv', 'jsonl'] as const).map((form) => ({
              id: form,
              label: logs.exports[form],
              run: () => download(buildExportUrl(filters, form, Date.now())),
            }))}
          />
        </div>
      </PageHead>
      <RetentionLine onChange={operates ? () => dialogs.open({ dialog: 'retention' }) : null} />
      <LogTools filters={filters} onSet={set} onDays={() => dialogs.open({ dialog: 'days' })} />
      <FilterPills pills={pills} onClear={() => set(NO_FILTERS)} />
      {live && <LiveLine waiting={tail.waiting} onShow={tail.show} />}
      <DataTable
        label={logs.title}
        columns={columns}
        list={search.isStopped ? { ...list, hasMore: false } : list}
        rowKey={(entry) => String(entry.seq)}
        rowSearch={openEntry}
        sort={sort}
        onSort={changeSort}
        empty={search.isSearching ? <Skeleton lines={4} /> : <Empty title={pills.length > 0 ? logs.nothing : logs.emptyTitle} text={logs.emptyText} />}
      />
      {list.searchedBackTo && (
        <SearchLine
          search={search}
          isPending={list.isLoadingMore}
          time={format.exact(list.searchedBackTo)}
          texts={sort.descending ? logs.searches.back : logs.searches.on}
        />
      )}
      {id && at && <LogPanel key={id} id={id} at={at} known={list.rows.find((entry) => String(entry.seq) === id)} />}
      {dialog === 'verify' && <VerifyDialog onClose={dialogs.close} />}
      {dialog === 'retention' && operates && <RetentionDialog onClose={dialogs.close} />}
      {dialog === 'days' && <DaysForm filters={filters} onSet={set} onClose={dialogs.close} />}
    </>
  )
}

const NO_FILTERS: LogFilters = {
  since: undefined,
  from: undefined,
  to: undefined,
  user: undefined,
  tool: undefined,
  outcome: undefined,
  kind: undefined,
  request: undefined,
}

const openEntry = (entry: SchemaAuditItemView) => ({ id: String(entry.seq), at: entry.occurred_at })

/** The same object as long as the address holds the same filters. */
function useStable(filters: LogFilters): LogFilters {
  const text = JSON.stringify(filters)
  return useMemo(() => JSON.parse(text) as LogFilters, [text])
}

function useSetSearch() {
  const navigate = useNavigate({ from: '/logs' })
  return useCallback(
    (change: object) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true }),
    [navigate],
  )
}

/** A download that a fault of it does not make the page of. */
function download(url: string): void {
  const link = document.createElement('a')
  link.href = url
  link.download = ''
  link.click()
}

interface LiveLineProps {
  waiting: number
  onShow: () => void
}

function LiveLine({ waiting, onShow }: LiveLineProps) {
  const { logs } = useMessages()
  const isLive = useLiveState() === 'live'
  return (
    <div role="status" className={styles.live}>
      <StatusBadge tone={isLive ? 'ok' : 'warn'} text={isLive ? logs.isLive : logs.connecting} />
      {waiting > 0 && (
        <Button kind="quiet" onPress={onShow}>
          {logs.waiting(waiting)}
        </Button>
      )}
    </div>
  )
}

function usePills(filters: LogFilters, set: (change: object) => void): Pill[] {
  const { logs } = useMessages()
  const person = useQuery({ ...personQuery(filters.user ?? ''), enabled: filters.user !== undefined })
  const { since, from, to, user, tool, outcome, kind, request } = filters
  const texts: Record<string, string | undefined> = {
    since: since && !from ? logs.spans[since] : undefined,
    from: from && logs.from(from),
    to: to && logs.to(to),
    user: user && logs.byPerson(person.data?.email ?? user),
    tool: tool && logs.ofTool(tool),
    outcome: outcome && logs.outcomes[outcome],
    kind: kind && logs.kinds[kind],
    request: request && logs.ofRequest(request),
  }
  return Object.entries(texts).flatMap(([name, label]) => (label ? [{ label, onRemove: () => set({ [name]: undefined }) }] : []))
}

function buildColumns(logs: Messages['logs'], format: ReturnType<typeof useFormat>): Column<SchemaAuditItemView, LogSort['key']>[] {
  return [
    {
      id: 'time',
      header: logs.columns.time,
      width: '11.5rem',
      sort: 'occurred_at',
      cell: (entry) => (
        <time dateTime={entry.occurred_at} title={format.exact(entry.occurred_at)}>
          {format.logTime(entry.occurred_at)}
        </time>
      ),
    },
    { id: 'outcome', header: logs.columns.outcome, width: '10rem', narrow: true, cell: (entry) => <LogBadge entry={entry} /> },
    {
      id: 'what',
      header: logs.columns.what,
      width: 'minmax(0, 1.8fr)',
      narrow: true,
      cell: (entry) => <code>{nameEntry(entry)}</code>,
    },
    { id: 'actor', header: logs.columns.actor, width: 'minmax(0, 1.2fr)', cell: (entry) => entry.actor },
    {
      id: 'duration',
      header: logs.columns.duration,
      width: '6rem',
      cell: (entry) => (entry.duration_us === null ? '' : logs.milliseconds(format.number(Math.round(entry.duration_us / 1000)))),
    },
    { id: 'client', header: logs.columns.client, width: 'minmax(0, 1fr)', cell: (entry) => entry.client },
  ]
}
