import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { Problem } from '../../api/problems.ts'
import { ToolProblem } from '../../api/toolProblems.ts'
import { askTool } from '../../api/tools.ts'
import type { Versioned } from '../../api/versions.ts'
import { splitKey } from './keys.ts'
import { ItemProblem } from './problems.ts'

const MODULE = 'items'
const PAGE = 100
/** As many around one as a picture stays readable with. */
export const MOST_RELATED = 200
const STATES = 20
const MOST_FOUND = 10

export const PRIORITIES = ['CRITICAL', 'HIGH', 'MEDIUM', 'LOW', 'MINIMAL'] as const
export type Priority = (typeof PRIORITIES)[number]

export interface ListedItem {
  /** Type and number: `task-7`. */
  key: string
  id: number
  type: string
  title: string
  status: string
  priority: Priority
  category?: string | null
  start_date?: string | null
  end_date?: string | null
  version?: string | null
  tags: string[]
  workspace: string
  revision: number
  /** Who changed it last, in a shared workspace. */
  updated_by?: string | null
  created_at: string
  updated_at: string
}

export interface Item extends ListedItem {
  description: string
  content: string
  related: string[]
}

export interface Workspace {
  name: string
  id: string
  owner: 'user' | 'role' | 'tenant'
  role?: string | null
  can_write: boolean
  items: number
}

export interface RelatedItems {
  center_item: ListedItem
  related_items: { item: ListedItem; distance: number; relationship: string }[]
  graph_stats: { total_nodes: number; total_edges: number; max_depth: number }
  edges: [string, string][]
}

export interface StateRevision {
  revision: number
  content: string
  updated_by: string
  updated_at: string
  related: string[]
  tags: string[]
}

interface CurrentState {
  content: string
  metadata: { updated_by: string; updated_at: string | null; related: string[]; tags: string[]; revision: number }
}

export interface ItemFilters {
  workspace: string | undefined
  q: string | undefined
  type: string | undefined
  status: string | undefined
  tag: string | undefined
  closed: boolean
}

/** Values of an item as `create_item` and `update_item` take them. */
export type ItemFields = Partial<Omit<Item, 'key' | 'id' | 'workspace' | 'revision' | 'updated_by' | 'created_at' | 'updated_at'>>

const at = (workspace: string | undefined) => (workspace ? { workspace } : {})

/** Call a tool of the module, whose errors are told by their codes. */
async function ask<Result>(tool: string, params: Record<string, unknown>, signal?: AbortSignal): Promise<Result> {
  try {
    return await askTool<Result>(MODULE, tool, params, signal)
  } catch (error) {
    throw error instanceof ToolProblem && error.kind > 0 ? new ItemProblem(error.line, error.error) : error
  }
}

/** Read a page of items: found by words, or the newest change first. The cursor is how many are before it. */
export async function readItems({ workspace, q, type, status, tag, closed }: ItemFilters, cursor: string | undefined) {
  const found = await ask<ItemPage>('browse_items', {
    ...at(workspace),
    ...(q && { query: q }),
    ...(type && { types: [type] }),
    ...(status && { statuses: [status] }),
    ...(closed && { includeClosedStatuses: true }),
    ...(tag && { tags: [tag] }),
    limit: PAGE,
    offset: Number(cursor ?? 0),
  })
  return { items: found.items, next_cursor: found.next_offset ? String(found.next_offset) : null }
}

interface ItemPage {
  items: ListedItem[]
  next_offset?: number | null
}

/** Find items by words, for a field; the newest without words. */
export async function findItems(workspace: string | undefined, words: string) {
  const params = { ...at(workspace), ...(words && { query: words }), includeClosedStatuses: true, limit: MOST_FOUND }
  const { items } = await ask<ItemPage>('browse_items', params)
  return items.map(({ key, title }) => ({ id: key, text: title, detail: key }))
}

export const workspacesQuery = queryOptions({
  queryKey: ['items', 'workspaces'],
  queryFn: async ({ signal }) => (await ask<{ workspaces: Workspace[] }>('list_workspaces', {}, signal)).workspaces,
})

export const statusesQuery = (workspace: string | undefined) =>
  queryOptions({
    queryKey: ['items', 'statuses', workspace],
    queryFn: async ({ signal }) =>
      (await ask<{ statuses: { name: string; is_closed: boolean }[] }>('get_statuses', at(workspace), signal)).statuses,
  })

export const tagsQuery = (workspace: string | undefined) =>
  queryOptions({
    queryKey: ['items', 'tags', workspace],
    queryFn: async ({ signal }) =>
      (await ask<{ tags: { name: string; count: number }[] }>('get_tags', at(workspace), signal)).tags,
  })

export const typesQuery = (workspace: string | undefined) =>
  queryOptions({
    queryKey: ['items', 'types', workspace],
    queryFn: async ({ signal }) =>
      (await ask<{ types: { name: string; count: number }[] }>('get_types', at(workspace), signal)).types,
  })

export const itemQuery = (workspace: string | undefined, key: string) =>
  queryOptions({
    queryKey: ['items', 'one', workspace, key],
    queryFn: ({ signal }) => readItem(workspace, key, signal),
  })

async function readItem(workspace: string | undefined, key: string, signal?: AbortSignal): Promise<Versioned<Item>> {
  const item = await ask<Item>('get_item_detail', { ...at(workspace), ...splitKey(key) }, signal)
  return { ...item, etag: String(item.revision) }
}

export const createItem = (workspace: string | undefined, fields: ItemFields) =>
  ask<Item>('create_item', { ...at(workspace), ...fields })

/**
 * Change an item as of the revision that was read.
 * @throws {Problem} 412 with the item as it is now, where somebody else has changed it meanwhile.
 */
export async function updateItem(workspace: string | undefined, key: string, fields: ItemFields, revision: number): Promise<void> {
  const params = { ...at(workspace), ...splitKey(key), ...fields, expected_revision: revision }
  await orConflict(
    () => ask('update_item', params),
    async () => {
      const { updated_at, updated_by, ...item } = await readItem(workspace, key)
      return { state: item, etag: item.etag, changed_at: updated_at, changed_by: updated_by ?? '' }
    },
  )
}

export async function deleteItem(workspace: string | undefined, key: string, revision: number): Promise<void> {
  await ask('delete_item', { ...at(workspace), ...splitKey(key), expected_revision: revision })
}

/** Give an item another type, and with it another key; the former one still leads to it. */
export const retypeItem = (workspace: string | undefined, key: string, type: string, revision: number) => {
  const { type: from_type, id: from_id } = splitKey(key)
  const params = { ...at(workspace), from_type, from_id, to_type: type, expected_revision: revision }
  return ask<Item>('change_item_type', params)
}

export interface WorkspaceFields {
  name: string
  owner: Workspace['owner']
  role: string
  member_writes: boolean
}

export const createWorkspace = (fields: WorkspaceFields) => ask<Workspace>('create_workspace', { ...fields })

export const renameWorkspace = (workspace: string, name: string) => ask<Workspace>('rename_workspace', { workspace, name })

export const deleteWorkspace = (workspace: string) => ask<{ items: number }>('delete_workspace', { workspace })

export const relatedQuery = (workspace: string | undefined, key: string, depth: number) =>
  queryOptions({
    queryKey: ['items', 'related', workspace, key, depth],
    queryFn: ({ signal }) => {
      const params = { ...at(workspace), ...splitKey(key), depth, max_results: MOST_RELATED }
      return ask<RelatedItems>('get_related_items', params, signal)
    },
    placeholderData: keepPreviousData,
  })

export const stateQuery = (workspace: string | undefined) =>
  queryOptions({
    queryKey: ['items', 'state', workspace],
    queryFn: ({ signal }) => readState(workspace, signal),
  })

/** The current state; revision 0 where none was written yet. */
async function readState(workspace: string | undefined, signal?: AbortSignal) {
  const { content, metadata } = await ask<CurrentState>('get_current_state', at(workspace), signal)
  return { content, ...metadata, etag: String(metadata.revision) }
}

export type State = Awaited<ReturnType<typeof readState>>

export interface StateFields {
  content: string
  updated_by: string
  related: string[]
  tags: string[]
}

/**
 * Write the current state as of the revision that was read.
 * @throws {Problem} 412 with the state as it is now, where somebody else has written one meanwhile.
 */
export async function updateState(workspace: string | undefined, fields: StateFields, revision: number): Promise<void> {
  await orConflict(
    () => ask('update_current_state', { ...at(workspace), ...fields, expected_revision: revision }),
    async () => {
      const { updated_at, ...state } = await readState(workspace)
      return { state, etag: state.etag, changed_at: updated_at ?? '', changed_by: state.updated_by }
    },
  )
}

export const historyQuery = (workspace: string | undefined) =>
  infiniteQueryOptions({
    queryKey: ['items', 'history', workspace],
    queryFn: ({ pageParam, signal }) => readHistory(workspace, pageParam, STATES, signal),
    initialPageParam: undefined as number | undefined,
    getNextPageParam: (page) => page.next_before ?? undefined,
  })

/** One revision of the state. */
export const revisionQuery = (workspace: string | undefined, revision: number) =>
  queryOptions({
    queryKey: ['items', 'revision', workspace, revision],
    queryFn: async ({ signal }) => {
      const [found] = (await readHistory(workspace, revision + 1, 1, signal)).states
      if (found?.revision !== revision) throw new Problem(404, { code: 'not_found' })
      return found
    },
    staleTime: Infinity,
  })

function readHistory(workspace: string | undefined, before: number | undefined, limit: number, signal: AbortSignal) {
  const params = { ...at(workspace), limit, ...(before !== undefined && { before }) }
  return ask<{ states: StateRevision[]; next_before?: number | null }>('get_state_history', params, signal)
}

type Current = NonNullable<Problem['current']>

/** Send a change. Where its revision is out of date, the problem holds what there is now, as the API's own has it. */
async function orConflict(send: () => Promise<unknown>, readCurrent: () => Promise<Current>): Promise<void> {
  try {
    await send()
  } catch (error) {
    if (!(error instanceof ToolProblem) || error.details.field !== 'expected_revision') throw error
    throw new Problem(412, { code: 'version_conflict', current: await readCurrent() })
  }
}
