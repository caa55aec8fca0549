import { queryOptions } from '@tanstack/react-query'
import { startJob } from '../../api/mcp.ts'
import { Problem } from '../../api/problems.ts'
import { ToolProblem } from '../../api/toolProblems.ts'
import { askTool } from '../../api/tools.ts'
import type { SourcePlace, SyncReport } from './sources.ts'

const MODULE = 'rag'
const PAGE = 50
const MOST_HITS = 20
/** How a tool says that the document has another version by now. */
const CHANGED = 'somebody has changed this document meanwhile'

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

export const collectionsQuery = queryOptions({
  queryKey: ['documents', 'collections'],
  queryFn: async ({ signal }) => (await askTool<{ collections: StoredCollection[] }>(MODULE, 'list_collections', {}, signal)).collections,
})

const among = (collection: string | undefined) => collection && { collections: [collection] }

/** The newest first, of all collections or of the one with this id. */
export async function readDocuments(collection: string | undefined, cursor: string | undefined) {
  const params = { limit: PAGE, ...among(collection), ...(cursor && { cursor }) }
  const found = await askTool<{ documents: StoredDocument[]; next_cursor?: string | null }>(MODULE, 'list_docs_by_date', params)
  return { items: found.documents, next_cursor: found.next_cursor ?? null }
}

export const hitsQuery = (q: string, collection: string | undefined) =>
  queryOptions({
    queryKey: ['documents', 'hits', q, collection],
    queryFn: async ({ signal }) => {
      const params = { query: q, limit: MOST_HITS, ...among(collection) }
      return (await askTool<{ results: DocumentHit[] }>(MODULE, 'search_docs', params, signal)).results
    },
  })

/** The person's own. */
export const sourcesQuery = queryOptions({
  queryKey: ['documents', 'sources'],
  queryFn: async ({ signal }) => (await askTool<{ sources: StoredSource[] }>(MODULE, 'list_sources', {}, signal)).sources,
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
    queryFn: async ({ signal }) => (await askTool<{ text?: string | null }>('jobs', 'get_job', { job_id: job }, signal)).text ?? '',
  })

export const documentQuery = (path: string, collection: string | undefined) =>
  queryOptions({
    queryKey: ['documents', 'one', collection, path],
    queryFn: ({ signal }) =>
      askTool<StoredDocument & { content: string }>(MODULE, 'get_doc', { file_path: path, ...(collection && { collection }) }, signal),
  })

/**
 * Delete a document, if it has the version still that the person has seen.
 * @throws {Problem} it was not deleted.
 */
export async function deleteDocument(path: string, collection: string, version: number): Promise<void> {
  try {
    await askTool(MODULE, 'delete_doc', { file_path: path, collection, expected_version: version })
  } catch (error) {
    const isOld = error instanceof ToolProblem && error.detail.startsWith(CHANGED)
    throw isOld ? new Problem(412, { code: 'version_conflict' }) : error
  }
}

export function addSource(source: SourcePlace, collection: string, share: boolean): Promise<StoredSource> {
  return askTool<StoredSource>(MODULE, 'add_source', { source, collection, share })
}

/** Remove a source; gives how many documents went with it. */
export async function removeSource(source: string): Promise<number> {
  return (await askTool<{ documents: number }>(MODULE, 'remove_source', { source_id: source })).documents
}
