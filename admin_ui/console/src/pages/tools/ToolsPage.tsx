import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Plug } from 'lucide-react'
import { lazy, Suspense, useCallback, useMemo, useState } from 'react'
import { useCommand } from '../../app/commands.tsx'
import { startConnecting } from '../../components/connecting.ts'
import { Button } from '../../components/Button.tsx'
import { SelectField } from '../../components/Field.tsx'
import { FilterPills, ListTools, PageHead, SearchBox } from '../../components/ListTools.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { Empty, NothingMatches, ProblemNotice, Skeleton, useOnline } from '../../components/States.tsx'
import { useAction } from '../../components/useAction.ts'
import { useMessages } from '../../messages/index.tsx'
import { ConnectDialog } from './ConnectDialog.tsx'
import { DisconnectDialog } from './DisconnectDialog.tsx'
import { HiddenTools } from './HiddenTools.tsx'
import { ModuleCard } from './ModuleCard.tsx'
import { modulesQuery, toolsQuery, unconnectedQuery } from './queries.ts'
import { RequestDialog } from './RequestDialog.tsx'
import { ReturnedNotice } from './ReturnedNotice.tsx'
import { MODULE_SORTS, STATES, toolsRoute, type ToolsSearch } from './route.ts'
import { ToolPanel } from './ToolPanel.tsx'
import { useRowKeys } from './rowKeys.ts'
import styles from './tools.module.css'

const OVERLAYS = ['tool', 'try', 'connect', 'disconnect', 'request'] as const

const Playground = lazy(async () => ({ default: (await import('./playground/Playground.tsx')).Playground }))

/** Every module and tool that the person may use, how each is connected, and what they may ask for. */
export function ToolsPage() {
  const { tools } = useMessages()
  const { tool, try: tried, connect, disconnect, request, returned } = toolsRoute.useSearch()
  const { close } = useOverlay(OVERLAYS)
  return (
    <>
      <PageHead title={tools.title}>
        <ConnectAll />
      </PageHead>
      {returned && <ReturnedNotice />}
      <ModuleList />
      {tool && <ToolPanel key={tool} name={tool} onClose={close} />}
      {tried && (
        <Suspense>
          <Playground key={tried} name={tried} onClose={close} />
        </Suspense>
      )}
      {connect && <ConnectDialog key={connect} module={connect} onClose={close} />}
      {disconnect && <DisconnectDialog key={disconnect} module={disconnect} onClose={close} />}
      {request && <RequestDialog key={request} name={request} onClose={close} />}
    </>
  )
}

/** Begins with all services that wait for an account; where none of them is set up, it says so. */
function ConnectAll() {
  const { tools } = useMessages()
  const { data } = useQuery(unconnectedQuery)
  if (!data || data.items.length === 0) return null
  if (data.items.some((module) => module.connection?.connectable)) return <ConnectAllButton />
  return <p className={styles.about}>{tools.noneSetUp}</p>
}

function ConnectAllButton() {
  const { problems, tools } = useMessages()
  const online = useOnline()
  const { busy, problem, run } = useAction()
  const [isRefused, setRefused] = useState(false)
  const connect = () => void run(async () => setRefused((await startConnecting({})).length > 0))
  useCommand('connect-all', tools.connectAll, connect)
  return (
    <div className={styles.headAction}>
      <Button kind="primary" icon={Plug} isPending={busy} isDisabled={!online} onPress={connect}>
        {tools.connectAll}
      </Button>
      {isRefused && <p role="alert">{tools.noneSetUp}</p>}
      {problem && <ProblemNotice error={problem} title={problems.actionTitle} />}
    </div>
  )
}

function useFilter() {
  const navigate = useNavigate({ from: '/tools' })
  return useCallback(
    (next: ToolsSearch, replace = false) =>
      void navigate({ search: (before) => ({ ...before, ...next }), replace, resetScroll: false }),
    [navigate],
  )
}

function Filters() {
  const { common, tools } = useMessages()
  const { q, state, sort = 'module' } = toolsRoute.useSearch()
  const filter = useFilter()
  const onSearch = useCallback((text: string) => filter({ q: text || undefined }, true), [filter])
  const choices = [
    { value: 'any', label: tools.anyState } as const,
    ...STATES.map((value) => ({ value, label: tools.stateFilters[value] })),
  ]
  return (
    <>
      <ListTools>
        <SearchBox label={tools.search} value={q} onSearch={onSearch} />
        <SelectField
          label={tools.state}
          hideLabel
          value={state ?? 'any'}
          choices={choices}
          onChange={(value) => filter({ state: value === 'any' ? undefined : value })}
        />
        <SelectField
          label={common.order}
          hideLabel
          value={sort}
          choices={MODULE_SORTS.map((value) => ({ value, label: tools.orders[value] }))}
          onChange={(value) => filter({ sort: value === 'module' ? undefined : value })}
        />
      </ListTools>
      <FilterPills
        pills={state ? [{ label: tools.stateFilters[state], onRemove: () => filter({ state: undefined }) }] : []}
        onClear={() => filter({ state: undefined })}
      />
    </>
  )
}

function ModuleList() {
  const { common, tools } = useMessages()
  const search = toolsRoute.useSearch()
  const { q = '', state, sort } = search
  const filter = useFilter()
  const list = useInfiniteQuery(modulesQuery(q, state, sort))
  const found = useFoundTools(q)
  const keys = useRowKeys()
  const modules = useMemo(() => list.data?.pages.flatMap((page) => page.items) ?? [], [list.data])
  const own = modules.filter((module) => (q ? module.matching_tool_count : module.tool_count) > 0)
  const opened = useMemo(() => new Set(search.open?.split(',')), [search.open])
  const toggle = useCallback(
    (name: string) => {
      const next = new Set(opened)
      if (!next.delete(name)) next.add(name)
      filter({ open: [...next].join(',') || undefined }, true)
    },
    [opened, filter],
  )
  return (
    <>
      <Filters />
      {list.isPending && <Skeleton lines={8} />}
      {list.error && <ProblemNotice error={list.error} onRetry={() => void list.refetch()} />}
      {list.data && own.length === 0 && <NoModules q={q} filtered={state !== undefined} />}
      <div className={styles.modules} onKeyDown={keys} aria-busy={list.isPlaceholderData}>
        {own.map((module) => (
          <ModuleCard
            key={module.module}
            module={module}
            {...(q && { found: found.byModule.get(module.module) ?? [] })}
            isOpen={q ? found.byModule.has(module.module) : opened.has(module.module)}
            onToggle={toggle}
          />
        ))}
      </div>
      {(list.hasNextPage || (q && found.hasMore)) && (
        <div className={styles.more}>
          <Button
            isPending={list.isFetchingNextPage || found.isLoadingMore}
            onPress={() => {
              if (list.hasNextPage) void list.fetchNextPage()
              if (q && found.hasMore) found.loadMore()
            }}
          >
            {common.loadMore}
          </Button>
        </div>
      )}
      {list.data && !state && (
        <HiddenTools
          q={q}
          count={list.hasNextPage ? undefined : modules.reduce((sum, module) => sum + module.hidden_tool_count, 0)}
        />
      )}
      <p role="status" className="visually-hidden">
        {list.data && !list.isPlaceholderData ? tools.found(own.length) : ''}
      </p>
    </>
  )
}

/** What a search finds, in one list for all modules: a card of its own would ask for each. */
function useFoundTools(q: string) {
  const query = useInfiniteQuery({ ...toolsQuery({ q, permitted: true }), enabled: q !== '' })
  const byModule = useMemo(() => {
    const all = query.data?.pages.flatMap((page) => page.items) ?? []
    return Map.groupBy(all, (tool) => tool.module)
  }, [query.data])
  return {
    byModule,
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    loadMore: () => void query.fetchNextPage(),
  }
}

function NoModules({ q, filtered }: { q: string; filtered: boolean }) {
  const { tools } = useMessages()
  const filter = useFilter()
  if (!q && !filtered) return <Empty title={tools.emptyTitle} text={tools.emptyText} />
  return <NothingMatches words={q} onClear={() => filter({ q: undefined, state: undefined })} />
}
