import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ChevronDown, ChevronRight } from 'lucide-react'
import { memo } from 'react'
import type { SchemaToolModuleView, SchemaToolView } from '../../api/schema.d.ts'
import { ActionMenu } from '../../components/ActionMenu.tsx'
import { Button } from '../../components/Button.tsx'
import { KindTag } from '../../components/KindTag.tsx'
import { Localized, useLocalized } from '../../components/Localized.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { SetUpLink } from '../../components/SetUpLink.tsx'
import { ProblemNotice, Skeleton } from '../../components/States.tsx'
import { useMessages } from '../../messages/index.tsx'
import { EffectBadge } from './EffectBadge.tsx'
import { isWaitingForSetup, ModuleState } from './ModuleState.tsx'
import { toolsQuery } from './queries.ts'
import styles from './tools.module.css'

interface ModuleCardProps {
  module: SchemaToolModuleView
  /** Tools that a search has found; without a search the card asks for its own. */
  found?: readonly SchemaToolView[]
  isOpen: boolean
  onToggle: (module: string) => void
}

/** A module with its connection; unfolded with its tools. */
export const ModuleCard = memo(function ModuleCard({ module, found, isOpen, onToggle }: ModuleCardProps) {
  const { tools } = useMessages()
  const name = module.module
  const count = found ? tools.matching(module.matching_tool_count, module.tool_count) : tools.toolCount(module.tool_count)
  const Chevron = isOpen ? ChevronDown : ChevronRight
  return (
    <section className={styles.module}>
      <div className={styles.moduleHead}>
        <h2 className={styles.moduleTitle}>
          <button
            type="button"
            data-row
            className={styles.toggle}
            aria-expanded={isOpen}
            aria-disabled={found !== undefined}
            onClick={() => found === undefined && onToggle(name)}
          >
            <Chevron size={16} aria-hidden />
            <span dir="auto">
              <Localized text={module.title} />
            </span>
          </button>
        </h2>
        <span className={styles.count}>{count}</span>
        {module.connection && <ModuleState connection={module.connection} />}
        <ModuleActions module={module} />
      </div>
      {isOpen && (
        <div className={styles.moduleBody}>
          <p className={styles.about} dir="auto">
            <Localized text={module.description} />
          </p>
          {found ? <ToolList module={module} items={found} /> : <OwnTools module={module} />}
        </div>
      )}
    </section>
  )
})

function ModuleActions({ module }: { module: SchemaToolModuleView }) {
  const { tools } = useMessages()
  const localized = useLocalized()
  const { open } = useOverlay([])
  const { connection } = module
  if (!connection || connection.state === 'ready') return null
  const title = localized(module.title)
  const connect = () => open({ connect: module.module })
  if (isWaitingForSetup(connection)) {
    return (
      <span className={styles.setUp}>
        <SetUpLink module={module.module} title={title} />
      </span>
    )
  }
  if (connection.state === 'needs_connect') {
    return (
      <Button onPress={connect} aria-label={tools.connectModule(title)}>
        {tools.connect}
      </Button>
    )
  }
  const actions = [
    ...(connection.connectable
      ? [{ id: 'connect', label: connection.kind === 'shared' ? tools.connectOwn : tools.reconnect, run: connect }]
      : []),
    ...(connection.kind === 'personal'
      ? [{ id: 'disconnect', label: tools.disconnect, danger: true, run: () => open({ disconnect: module.module }) }]
      : []),
  ]
  return (
    <>
      {connection.state === 'broken' && connection.responsible === 'owner' && (
        <Button onPress={connect} aria-label={tools.reconnectModule(title)}>
          {tools.reconnect}
        </Button>
      )}
      {actions.length > 0 && <ActionMenu actions={actions} label={tools.actionsOf(title)} />}
    </>
  )
}

function OwnTools({ module }: { module: SchemaToolModuleView }) {
  const { common } = useMessages()
  const list = useInfiniteQuery(toolsQuery({ q: '', module: module.module, permitted: true }))
  if (list.isPending) return <Skeleton lines={Math.min(module.tool_count, 8)} />
  if (list.error) return <ProblemNotice error={list.error} onRetry={() => void list.refetch()} />
  return (
    <>
      <ToolList module={module} items={list.data.pages.flatMap((page) => page.items)} />
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

function ToolList({ module, items }: { module: SchemaToolModuleView; items: readonly SchemaToolView[] }) {
  const { tools } = useMessages()
  const localized = useLocalized()
  return (
    <ul aria-label={tools.toolsOf(localized(module.title))} className={styles.tools}>
      {items.map((tool) => (
        <ToolRow key={tool.name} tool={tool} />
      ))}
    </ul>
  )
}

const ToolRow = memo(function ToolRow({ tool }: { tool: SchemaToolView }) {
  const { playground } = useMessages()
  const localized = useLocalized()
  return (
    <li className={styles.tool}>
      <div className={styles.toolText}>
        <p className={styles.toolHead}>
          <Link
            to="."
            search={(before: object) => ({ ...before, tool: `${tool.module}.${tool.name}` })}
            state={{ opened: true }}
            resetScroll={false}
            data-row
            className={styles.toolName}
          >
            <Localized text={tool.title} />
          </Link>
          <code className={styles.code}>{tool.uri || tool.name}</code>
          <KindTag kind={tool.kind} />
        </p>
        <p lang="en" dir="auto" className={styles.toolAbout}>
          {tool.description}
        </p>
      </div>
      {tool.effect && <EffectBadge effect={tool.effect} />}
      {tool.kind === 'tool' && (
        <Link
          to="."
          search={(before: object) => ({ ...before, try: `${tool.module}.${tool.name}` })}
          state={{ opened: true }}
          resetScroll={false}
          aria-label={playground.title(localized(tool.title))}
          className={styles.try}
        >
          {playground.try}
        </Link>
      )}
    </li>
  )
})
