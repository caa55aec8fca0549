import { queryOptions } from '@tanstack/react-query'
import { callTool, startJob } from '../../api/mcp.ts'
import { Problem } from '../../api/problems.ts'
import type { SourcePlace, SyncReport } from './sources.ts'

const MODULE = 'rag'
const MAX_TOKENS = 50_000
const PAGE = 50
const MOST_HITS = 20
/** How errors of tools begin that have a text of ours. */
const CODES = [
  ['no such module or tool', 'no_tool'],
  ['somebody has changed this document meanwhile', 'version_conflict'],
] as const

export interface StoredCollection {
  id: string
  name: string
  owner: 'user' | 'role' | 'tenant'
  can_write: boolean
  documents: number
}

export interface StoredDocument {
  file_path: string
  title: string
  tags: string[]
  collection: string
  collection_id: string
  version: number
  updated_at: string
}

export interface DocumentHit {
  title: string
  heading: string
  content: string | null
  file_path: string
  collection: string
  collection_id: string
  uri: string
}

export interface StoredSource {
  source_id: string
  source: SourcePlace
  /** Name of the collection that it fills. */
  collection: string
  last_run?: SyncReport | null
}

/** The person may not use the tools that this page is made of. */
export const isWithoutTools = (error: unknown) => error instanceof Problem && error.code === 'no_tool'

/**
 * Call a tool of the documents as the person.
 * @throws {Problem} it answers no result.
 */
export async function ask<Result>(
  tool: string,
  params: Record<string, unknown>,
  signal: AbortSignal = new AbortController().signal,
  module: string = MODULE,
): Promise<Result> {
  const call = { module, tool_name: tool, params, max_tokens: MAX_TOKENS }
  const answer = await callTool({ name: 'call', arguments: call }, signal)
  if (answer.isError) {
    const [line = ''] = answer.text.split('\n')
    const [, code = 'tool'] = CODES.find(([beginning]) => line.startsWith(beginning)) ?? []
    throw new Problem(422, { code, detail: line })
  }
  return answer.structured as Result
}

export const collectionsQuery = queryOptions({
  queryKey: ['documents', 'collections'],
  queryFn: async ({ signal }) => (await ask<{ collections: StoredCollection[] }>('list_collections', {}, signal)).collections,
})

const among = (collection: string | undefined) => collection && { collections: [collection] }

/** The newest first, of all collections or of the one with this id. */
export async function readDocuments(collection: string | undefined, cursor: string | undefined) {
  const params = { limit: PAGE, ...among(collection), ...(cursor && { cursor }) }
  const found = await ask<{ documents: StoredDocument[]; next_cursor?: string | null }>('list_docs_by_date', params)
  return { items: found.documents, next_cursor: found.next_cursor ?? null }
}

export const hitsQuery = (q: string, collection: string | undefined) =>
  queryOptions({
    queryKey: ['documents', 'hits', q, collection],
    queryFn: async ({ signal }) => {
      const params = { query: q, limit: MOST_HITS, ...among(collection) }
      return (await ask<{ results: DocumentHit[] }>('search_docs', params, signal)).results
    },
  })

/** The person's own. */
export const sourcesQuery = queryOptions({
  queryKey: ['documents', 'sources'],
  queryFn: async ({ signal }) => (await ask<{ sources: StoredSource[] }>('list_sources', {}, signal)).sources,
})

/** Have a source's documents brought up to date; gives the id of the job. */
export function startSync(source: string): Promise<string> {
  const call = { module: MODULE, tool_name: 'sync_documents', params: { source_id: source } }
  return startJob(call, new AbortController().signal)
}

/** What the tool of an ended job has answered, where that is an error: the API has no results. */
export const jobTextQuery = (job: string) =>
  queryOptions({
    queryKey: ['jobs', 'text', job],
    queryFn: async ({ signal }) => (await ask<{ text?: string | null }>('get_job', { job_id: job }, signal, 'jobs')).text ?? '',
  })

export const documentQuery = (path: string, collection: string | undefined) =>
  queryOptions({
    queryKey: ['documents', 'one', collection, path],
    queryFn: ({ signal }) =>
      ask<StoredDocument & { content: string }>('get_doc', { file_path: path, ...(collection && { collection }) }, signal),
  })
