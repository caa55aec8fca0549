import { queryOptions } from '@tanstack/react-query'
import { callTool } from '../../api/mcp.ts'
import { Problem } from '../../api/problems.ts'

const MODULE = 'rag'
const MAX_TOKENS = 50_000
const PAGE = 50
const MOST_HITS = 20
const NO_TOOL = 'no such module or tool'

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
  version: number
  updated_at: string
}

export interface DocumentHit {
  title: string
  heading: string
  content: string | null
  file_path: string
  collection: string
  uri: string
}

/** The person may not use the tools that this page is made of. */
export const isWithoutTools = (error: unknown) => error instanceof Problem && error.code === 'no_tool'

/**
 * Call a tool of the documents as the person.
 * @throws {Problem} it answers no result.
 */
async function ask<Result>(tool: string, params: Record<string, unknown>, signal: AbortSignal): Promise<Result> {
  const call = { module: MODULE, tool_name: tool, params, max_tokens: MAX_TOKENS }
  const answer = await callTool({ name: 'call', arguments: call }, signal)
  if (answer.isError) {
    const [line = ''] = answer.text.split('\n')
    throw new Problem(422, { code: line.startsWith(NO_TOOL) ? 'no_tool' : 'tool', detail: line })
  }
  return answer.structured as Result
}

export const collectionsQuery = queryOptions({
  queryKey: ['documents', 'collections'],
  queryFn: async ({ signal }) => (await ask<{ collections: StoredCollection[] }>('list_collections', {}, signal)).collections,
})

/** The newest first. */
export async function readDocuments(cursor: string | undefined) {
  const params = { limit: PAGE, ...(cursor && { cursor }) }
  const found = await ask<{ documents: StoredDocument[]; next_cursor?: string | null }>(
    'list_docs_by_date',
    params,
    new AbortController().signal,
  )
  return { items: found.documents, next_cursor: found.next_cursor ?? null }
}

export const hitsQuery = (q: string) =>
  queryOptions({
    queryKey: ['documents', 'hits', q],
    queryFn: async ({ signal }) =>
      (await ask<{ results: DocumentHit[] }>('search_docs', { query: q, limit: MOST_HITS }, signal)).results,
  })

export const documentQuery = (path: string, collection: string | undefined) =>
  queryOptions({
    queryKey: ['documents', 'one', collection, path],
    queryFn: ({ signal }) =>
      ask<StoredDocument & { content: string }>('get_doc', { file_path: path, ...(collection && { collection }) }, signal),
  })
