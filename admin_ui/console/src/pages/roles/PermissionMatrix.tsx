import { ChevronDown, ChevronRight } from 'lucide-react'
import { type KeyboardEvent, memo, type RefObject, useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { SchemaServiceToolView } from '../../api/schema.d.ts'
import { KindTag } from '../../components/KindTag.tsx'
import { StatusBadge, type Tone } from '../../components/StatusBadge.tsx'
import { type Messages, useFormat, useLanguage } from '../../messages/index.tsx'
import styles from './PermissionMatrix.module.css'
import { useRowsInSight } from './useRowsInSight.ts'
import { decide, type Grants, isDeniedAtLarge, setTool } from './permissions.ts'

type Tool = SchemaServiceToolView

interface Module {
  name: string
  tools: Tool[]
}

type Row = { kind: 'module'; module: Module; isOpen: boolean } | { kind: 'tool'; tool: Tool }

interface PermissionMatrixProps {
  tools: readonly Tool[]
  grants: Grants
  /** All services are unfolded, as where somebody has searched. */
  open: boolean
  onChange: (grants: Grants) => void
}

const TONES: Record<Tool['effect'], Tone> = { reads: 'info', changes: 'warn', destroys: 'bad' }

/**
 * Services and their tools with what the role may do. One stop of the Tab key: arrows walk rows, left and right fold,
 * Space ticks.
 */
export function PermissionMatrix({ tools, grants, open, onChange }: PermissionMatrixProps) {
  const { messages } = useLanguage()
  const { matrix } = messages.roles
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set())
  const [active, setActive] = useState(0)
  const body = useRef<HTMLDivElement>(null)
  const modules = useMemo(() => groupByModule(tools), [tools])
  const rows = useMemo(() => listRows(modules, (name) => open || unfolded.has(name)), [modules, open, unfolded])
  const current = Math.min(active, rows.length - 1)
  const virtual = useRowsInSight(body, rows, readKey, current)
  const goal = useRef(-1)
  const focus = (index: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, index))
    goal.current = next
    setActive(next)
    virtual.scrollToIndex(next, { align: 'auto' })
    focusGoal(body.current, goal)
  }
  // A row that was out of sight is in the document from the next drawing on.
  useLayoutEffect(() => focusGoal(body.current, goal))
  const fold = (name: string, isOpen: boolean) => {
    const next = new Set(unfolded)
    if (isOpen) next.add(name)
    else next.delete(name)
    setUnfolded(next)
  }
  const toggle = (row: Row) => onChange(row.kind === 'tool' ? toggleTool(grants, row.tool) : toggleModule(grants, row.module))
  const handleKey = (event: KeyboardEvent) => {
    const row = rows[current]
    if (!row) return
    const step = STEPS[event.key]
    if (step !== undefined) focus(current + step)
    else if (event.key === ' ') toggle(row)
    else if (event.key === 'ArrowRight' && row.kind === 'module') fold(row.module.name, true)
    else if (event.key === 'ArrowLeft' && row.kind === 'module') fold(row.module.name, false)
    else if (event.key === 'ArrowLeft' && row.kind === 'tool') focus(rows.findIndex((one) => one.kind === 'module' && one.module.name === row.tool.module))
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <div role="treegrid" aria-label={matrix.label} aria-rowcount={rows.length + 1} className={styles.grid}>
      <div role="row" className={styles.head}>
        <span role="columnheader">{matrix.tool}</span>
        <span role="columnheader">{matrix.allowed}</span>
        <span role="columnheader">{matrix.effect}</span>
        <span role="columnheader">{matrix.from}</span>
      </div>
      <div role="rowgroup" ref={body} className={styles.body} style={{ height: virtual.getTotalSize() }} onKeyDown={handleKey}>
        {virtual.getVirtualItems().map(({ key, index, start }) => {
          const row = rows[index]!
          return (
            <div
              key={key}
              role="row"
              ref={virtual.measureElement}
              data-index={index}
              data-last={index === rows.length - 1}
              aria-rowindex={index + 2}
              aria-level={row.kind === 'module' ? 1 : 2}
              aria-expanded={row.kind === 'module' ? row.isOpen : undefined}
              tabIndex={index === current ? 0 : -1}
              className={row.kind === 'module' ? styles.module : styles.tool}
              style={{ transform: `translateY(${start - virtual.options.scrollMargin}px)` }}
              onFocus={() => setActive(index)}
            >
              {row.kind === 'module' ? (
                <ModuleCells module={row.module} isOpen={row.isOpen} grants={grants} onFold={fold} onToggle={() => toggle(row)} />
              ) : (
                <ToolCells tool={row.tool} grants={grants} onToggle={() => toggle(row)} />
              )}
            </div>
          )
        })}
      </div>
    </div>
  )
}

function readKey(row: Row): string {
  return row.kind === 'module' ? row.module.name : `${row.tool.module}.${row.tool.name}`
}

function focusGoal(body: HTMLElement | null, goal: RefObject<number>): void {
  const row = goal.current < 0 ? null : body?.querySelector<HTMLElement>(`[data-index="${goal.current}"]`)
  if (!row) return
  goal.current = -1
  row.focus()
}

const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -10_000, End: 10_000 }

interface ModuleCellsProps {
  module: Module
  isOpen: boolean
  grants: Grants
  onFold: (name: string, isOpen: boolean) => void
  onToggle: () => void
}

function ModuleCells({ module, isOpen, grants, onFold, onToggle }: ModuleCellsProps) {
  const { language, messages } = useLanguage()
  const { matrix } = messages.roles
  const format = useFormat()
  const title = module.tools[0]!.module_title[language]
  const permitted = module.tools.filter((tool) => decide(grants, tool).permitted).length
  return (
    <>
      <span role="rowheader" className={styles.name} onClick={() => onFold(module.name, !isOpen)}>
        {isOpen ? <ChevronDown size={16} aria-hidden /> : <ChevronRight size={16} aria-hidden />}
        {title}
        {!module.tools[0]!.enabled && <span className={styles.off}>{matrix.off}</span>}
      </span>
      <span role="gridcell" className={styles.check}>
        <Tick label={title} state={permitted === 0 ? 'off' : permitted === module.tools.length ? 'on' : 'mixed'} onToggle={onToggle} />
      </span>
      <span role="gridcell" className={styles.count}>
        {matrix.of(format.number(permitted), format.number(module.tools.length))}
      </span>
      <span role="gridcell" />
    </>
  )
}

interface ToolCellsProps {
  tool: Tool
  grants: Grants
  onToggle: () => void
}

const ToolCells = memo(function ToolCells({ tool, grants, onToggle }: ToolCellsProps) {
  const { language, messages } = useLanguage()
  const { matrix } = messages.roles
  const { permitted, by } = decide(grants, tool)
  const locked = isDeniedAtLarge(grants, tool)
  const title = tool.title[language]
  return (
    <>
      <span role="rowheader" className={styles.name} title={tool.uri || tool.description} dir="auto">
        <span className={styles.title}>{title}</span>
        <code>{tool.name}</code>
        <KindTag kind={tool.kind} />
      </span>
      <span role="gridcell" className={styles.check} title={locked ? matrix.deniedAtLarge : undefined}>
        <Tick label={title} state={permitted ? 'on' : 'off'} isLocked={locked} onToggle={onToggle} />
      </span>
      <span role="gridcell">
        <StatusBadge tone={TONES[tool.effect]} text={matrix.effects[tool.effect]} />
      </span>
      <span role="gridcell" className={styles.from}>
        {by && explain(matrix, permitted, by)}
      </span>
    </>
  )
})

interface TickProps {
  label: string
  state: 'on' | 'off' | 'mixed'
  isLocked?: boolean
  onToggle: () => void
}

/** The box of a row; the keyboard reaches it by the row's Space. */
function Tick({ label, state, isLocked = false, onToggle }: TickProps) {
  return (
    <input
      type="checkbox"
      tabIndex={-1}
      aria-label={label}
      checked={state === 'on'}
      disabled={isLocked}
      ref={(box) => {
        if (box) box.indeterminate = state === 'mixed'
      }}
      onChange={onToggle}
    />
  )
}

function explain(matrix: Messages['roles']['matrix'], permitted: boolean, by: string): string {
  const { because } = matrix
  const reason = by === '*' ? because.everything : by.endsWith('.*') ? because.module : by.endsWith(':read') ? because.reading : because.tool
  return permitted ? reason : `${because.denied} · ${reason}`
}

function toggleTool(grants: Grants, tool: Tool): Grants {
  return isDeniedAtLarge(grants, tool) ? grants : setTool(grants, tool, !decide(grants, tool).permitted)
}

/** All of what is shown of a service, unless all of it is permitted: then nothing. */
function toggleModule(grants: Grants, module: Module): Grants {
  const all = module.tools.every((tool) => decide(grants, tool).permitted)
  return module.tools.reduce((next, tool) => (isDeniedAtLarge(next, tool) ? next : setTool(next, tool, !all)), grants)
}

function groupByModule(tools: readonly Tool[]): Module[] {
  const groups = Map.groupBy(tools, (tool) => tool.module)
  return [...groups].map(([name, of]) => ({ name, tools: of }))
}

function listRows(modules: readonly Module[], isOpen: (name: string) => boolean): Row[] {
  return modules.flatMap((module) => {
    const head: Row = { kind: 'module', module, isOpen: isOpen(module.name) }
    return head.isOpen ? [head, ...module.tools.map((tool): Row => ({ kind: 'tool', tool }))] : [head]
  })
}
