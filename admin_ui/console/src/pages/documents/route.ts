import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { FileText } from 'lucide-react'
import { rootRoute } from '../../app/root.tsx'
import { type Query, readOneOf, readText } from '../../app/search.ts'

const DIALOGS = ['upload', 'delete', 'add', 'remove', 'connect'] as const

export interface DocumentsSearch {
  /** Documents without it. */
  view?: 'sources' | undefined
  q?: string | undefined
  /** The collection whose documents are listed, by id. */
  in?: string | undefined
  dialog?: (typeof DIALOGS)[number] | undefined
  /** Path of the document that is shown, and the id or name of its collection. */
  path?: string | undefined
  collection?: string | undefined
  /** The source that is shown, and the job that brings it up to date. */
  id?: string | undefined
  job?: string | undefined
}

export const documentsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/documents',
  staticData: { title: (messages) => messages.documents.title, module: 'rag', group: 'work', icon: FileText, key: 'F' },
  validateSearch: (query: Query): DocumentsSearch => ({
    view: readOneOf(query.view, ['sources']),
    q: readText(query.q),
    in: readText(query.in),
    dialog: readOneOf(query.dialog, DIALOGS),
    path: readText(query.path),
    collection: readText(query.collection),
    id: readText(query.id),
    job: readText(query.job),
  }),
  component: lazyRouteComponent(() => import('./DocumentsPage.tsx'), 'DocumentsPage'),
})
