import { queryOptions } from '@tanstack/react-query'
import { askTool } from '../../api/tools.ts'

const MODULE = 'rag'
const PAGE = 50
const MOST_HITS = 20

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

export const collectionsQuery = queryOptions({
  queryKey: ['documents', 'collections'],
  queryFn: async ({ signal }) => (await askTool<{ collections: StoredCollection[] }>(MODULE, 'list_collections', {}, signal)).collections,
})

/** The newest first. */
export async function readDocuments(cursor: string | undefined) {
  const params = { limit: PAGE, ...(cursor && { cursor }) }
  const found = await askTool<{ documents: StoredDocument[]; next_cursor?: string | null }>(MODULE, 'list_docs_by_date', params)
  return { items: found.documents, next_cursor: found.next_cursor ?? null }
}

export const hitsQuery = (q: string) =>
  queryOptions({
    queryKey: ['documents', 'hits', q],
    queryFn: async ({ signal }) =>
      (await askTool<{ results: DocumentHit[] }>(MODULE, 'search_docs', { query: q, limit: MOST_HITS }, signal)).results,
  })

export const documentQuery = (path: string, collection: string | undefined) =>
  queryOptions({
    queryKey: ['documents', 'one', collection, path],
    queryFn: ({ signal }) =>
      askTool<StoredDocument & { content: string }>(MODULE, 'get_doc', { file_path: path, ...(collection && { collection }) }, signal),
  })
