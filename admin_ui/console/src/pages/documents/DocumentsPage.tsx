import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Upload } from 'lucide-react'
import { isWithoutTools } from '../../api/tools.ts'
import { Button } from '../../components/Button.tsx'
import { ItemList } from '../../components/Facts.tsx'
import { ListTools, PageHead, SearchBox } from '../../components/ListTools.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { PagedItems } from '../../components/PagedItems.tsx'
import { Empty, NothingMatches, ProblemNotice, Skeleton } from '../../components/States.tsx'
import { Time } from '../../components/Time.tsx'
import { useListSearch } from '../../components/useListSearch.ts'
import { usePagedList } from '../../components/usePagedList.ts'
import { useMessages } from '../../messages/index.tsx'
import { DocumentPanel } from './DocumentPanel.tsx'
import styles from './documents.module.css'
import { hitsQuery, readDocuments } from './queries.ts'
import { documentsRoute } from './route.ts'
import { UploadForm } from './UploadForm.tsx'

const OVERLAYS = ['dialog', 'path', 'collection'] as const

/** The documents that the person may read: listed, searched by meaning, and uploaded. */
export function DocumentsPage() {
  const { documents } = useMessages()
  const { q, dialog, path, collection } = documentsRoute.useSearch()
  const { open, close } = useOverlay(OVERLAYS)
  const { onSearch } = useListSearch()
  const list = usePagedList(['documents', 'list'], readDocuments)
  const isHidden = isWithoutTools(list.error)
  return (
    <>
      <PageHead title={documents.title}>
        {!isHidden && (
          <Button kind="primary" icon={Upload} onPress={() => open({ dialog: 'upload' })}>
            {documents.upload}
          </Button>
        )}
      </PageHead>
      {isHidden ? (
        <Empty title={documents.noToolsTitle} text={documents.noToolsText} />
      ) : (
        <>
          <ListTools>
            <SearchBox label={documents.search} value={q} onSearch={onSearch} />
          </ListTools>
          {q ? (
            <Hits q={q} onClear={() => onSearch('')} />
          ) : list.isLoading ? (
            <Skeleton lines={8} />
          ) : list.error === null && list.rows.length === 0 ? (
            <Empty title={documents.emptyTitle} text={documents.emptyText} />
          ) : (
            <PagedItems
              label={documents.title}
              list={list}
              itemKey={(one) => `${one.collection} ${one.file_path}`}
              title={(one) => <Open path={one.file_path} collection={one.collection} text={one.title} />}
              detail={(one) => (
                <>
                  {one.file_path} · {one.collection} · <Time at={one.updated_at} />
                  {one.tags.length > 0 && ` · ${one.tags.join(', ')}`}
                </>
              )}
              empty={documents.emptyTitle}
            />
          )}
        </>
      )}
      {dialog === 'upload' && <UploadForm onClose={close} />}
      {path && <DocumentPanel key={path} path={path} collection={collection} onClose={close} />}
    </>
  )
}

function Hits({ q, onClear }: { q: string; onClear: () => void }) {
  const { documents } = useMessages()
  const { data, error, refetch } = useQuery(hitsQuery(q))
  if (error) return <ProblemNotice error={error} onRetry={() => void refetch()} />
  if (!data) return <Skeleton lines={8} />
  if (data.length === 0) return <NothingMatches words={q} onClear={onClear} />
  return (
    <ItemList
      label={documents.hits}
      items={data.map((hit, place) => ({ ...hit, place }))}
      itemKey={(hit) => String(hit.place)}
      title={(hit) => (
        <>
          <Open path={hit.file_path} collection={hit.collection} text={hit.title} />
          {hit.heading && ` › ${hit.heading}`}
        </>
      )}
      detail={(hit) => (
        <>
          <span className={styles.passage}>{hit.content}</span>
          {hit.file_path} · {hit.collection}
        </>
      )}
      empty={documents.emptyTitle}
    />
  )
}

function Open({ path, collection, text }: { path: string; collection: string; text: string }) {
  const { q } = documentsRoute.useSearch()
  return (
    <Link to="/documents" search={{ q, path, collection }} state={{ opened: true }} dir="auto">
      {text}
    </Link>
  )
}
