import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { FileText } from 'lucide-react'
import { rootRoute } from '../../app/root.tsx'
import { type Query, readOneOf, readText } from '../../app/search.ts'

export interface DocumentsSearch {
  q?: string | undefined
  dialog?: 'upload' | undefined
  /** Path of the document that is shown, and the name of its collection. */
  path?: string | undefined
  collection?: string | undefined
}

export const documentsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/documents',
  staticData: { title: (messages) => messages.documents.title, module: 'rag', group: 'work', icon: FileText, key: 'F' },
  validateSearch: (query: Query): DocumentsSearch => ({
    q: readText(query.q),
    dialog: readOneOf(query.dialog, ['upload']),
    path: readText(query.path),
    collection: readText(query.collection),
  }),
  component: lazyRouteComponent(() => import('./DocumentsPage.tsx'), 'DocumentsPage'),
})
