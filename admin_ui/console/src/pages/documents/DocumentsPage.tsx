import { Plus, Upload } from 'lucide-react'
import { isWithoutTools } from '../../api/tools.ts'
import { useShortcut } from '../../app/shortcuts.tsx'
import { Button } from '../../components/Button.tsx'
import { PageHead } from '../../components/ListTools.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { Empty } from '../../components/States.tsx'
import { usePagedList } from '../../components/usePagedList.ts'
import { ViewLinks } from '../../components/ViewLinks.tsx'
import { useMessages } from '../../messages/index.tsx'
import { AddSource } from './AddSource.tsx'
import { DocumentList } from './DocumentList.tsx'
import { DocumentPanel } from './DocumentPanel.tsx'
import { readDocuments } from './queries.ts'
import { documentsRoute } from './route.ts'
import { SourceList } from './SourceList.tsx'
import { SourcePanel } from './SourcePanel.tsx'
import { UploadForm } from './UploadForm.tsx'

const OVERLAYS = ['dialog', 'path', 'collection', 'id', 'job'] as const

/** The documents that the person may read, listed, searched by meaning and uploaded; and where their own come from. */
export function DocumentsPage() {
  const { documents } = useMessages()
  const { view = 'documents', in: collection, dialog, path, collection: shown, id } = documentsRoute.useSearch()
  const { open, close } = useOverlay(OVERLAYS)
  const list = usePagedList(['documents', 'list', collection], (cursor) => readDocuments(collection, cursor))
  const isHidden = isWithoutTools(list.error)
  const create = () => open({ dialog: view === 'sources' ? 'add' : 'upload' })
  useShortcut('n', view === 'sources' ? documents.sources.add : documents.upload, create)
  if (isHidden)
    return (
      <>
        <PageHead title={documents.title} />
        <Empty title={documents.noToolsTitle} text={documents.noToolsText} />
      </>
    )
  return (
    <>
      <PageHead title={documents.title}>
        <Button kind="primary" icon={view === 'sources' ? Plus : Upload} onPress={create}>
          {view === 'sources' ? documents.sources.add : documents.upload}
        </Button>
      </PageHead>
      <ViewLinks
        label={documents.views}
        selected={view}
        views={[
          { view: 'documents', label: documents.viewNames.documents },
          { view: 'sources', label: documents.viewNames.sources },
        ]}
      />
      {view === 'sources' ? <SourceList /> : <DocumentList list={list} />}
      {dialog === 'upload' && <UploadForm onClose={close} />}
      {dialog === 'add' && <AddSource onClose={close} />}
      {view === 'documents' && path && <DocumentPanel key={path} path={path} collection={shown} onClose={close} />}
      {view === 'sources' && id && <SourcePanel key={id} id={id} />}
    </>
  )
}
