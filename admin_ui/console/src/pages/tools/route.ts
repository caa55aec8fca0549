import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { Wrench } from 'lucide-react'
import { rootRoute } from '../../app/root.tsx'
import { type Query, readOneOf, readText } from '../../app/search.ts'

export const STATES = ['personal', 'shared', 'needs_connect', 'broken', 'ready'] as const
export type StateFilter = (typeof STATES)[number]

/** Modules by name, or those with the most tools first. */
export const MODULE_SORTS = ['module', '-module', '-tool_count', 'tool_count'] as const
export type ModuleSort = (typeof MODULE_SORTS)[number]

const NAME = /^[a-z][a-z0-9_]{0,62}$/
const TOOL = /^[a-z][a-z0-9_]{0,62}\.[a-z][a-z0-9_]{0,62}$/

export interface ToolsSearch {
  q?: string | undefined
  state?: StateFilter | undefined
  sort?: ModuleSort | undefined
  /** Modules whose tools are shown, with commas between. */
  open?: string | undefined
  /** The tools that one may not use are shown. */
  hidden?: '1' | undefined
  /** The tool whose panel is open, `module.tool`. */
  tool?: string | undefined
  /** The tool that is tried, `module.tool`. */
  try?: string | undefined
  /** The module that is to be connected. */
  connect?: string | undefined
  disconnect?: string | undefined
  /** The tool that access is asked for, `module.tool`. */
  request?: string | undefined
  /** Somebody comes back from connecting. */
  returned?: '1' | undefined
}

export const toolsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/tools',
  staticData: { title: (messages) => messages.tools.title, group: 'work', icon: Wrench, key: 'T' },
  validateSearch: (query: Query): ToolsSearch => ({
    q: readText(query.q),
    state: readOneOf(query.state, STATES),
    sort: readOneOf(query.sort, MODULE_SORTS),
    open: readModules(query.open),
    hidden: readOneOf(query.hidden, ['1']),
    tool: readPattern(query.tool, TOOL),
    try: readPattern(query.try, TOOL),
    connect: readPattern(query.connect, NAME),
    disconnect: readPattern(query.disconnect, NAME),
    request: readPattern(query.request, TOOL),
    returned: readOneOf(query.returned, ['1']),
  }),
  component: lazyRouteComponent(() => import('./ToolsPage.tsx'), 'ToolsPage'),
})

function readPattern(value: unknown, pattern: RegExp): string | undefined {
  return typeof value === 'string' && pattern.test(value) ? value : undefined
}

function readModules(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > 2_000) return undefined
  const names = value.split(',').filter((name) => NAME.test(name))
  return names.length > 0 ? names.join(',') : undefined
}

/** `module.tool` as its two names. */
export function splitToolName(name: string): [module: string, tool: string] {
  const [module = '', tool = ''] = name.split('.')
  return [module, tool]
}
