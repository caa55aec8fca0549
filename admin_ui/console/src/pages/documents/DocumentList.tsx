import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { ItemList } from '../../components/Facts.tsx'
import { ListTools, SearchBox } from '../../components/ListTools.tsx'
import { PagedItems } from '../../components/PagedItems.tsx'
import { Empty, NothingMatches, ProblemNotice, Skeleton } from '../../components/States.tsx'
import { Time } from '../../components/Time.tsx'
import { useListSearch } from '../../components/useListSearch.ts'
import type { PagedList } from '../../components/usePagedList.ts'
import { useMessages } from '../../messages/index.tsx'
import { CollectionFilter } from './CollectionField.tsx'
import styles from './documents.module.css'
import { hitsQuery, type StoredDocument } from './queries.ts'
import { documentsRoute } from './route.ts'

/** Documents, the newest first, or the passages that fit the words of the search; of all collections or of one. */
export function DocumentList({ list }: { list: PagedList<StoredDocument> }) {
  const { documents } = useMessages()
  const { q, in: collection } = documentsRoute.useSearch()
  const { onSearch } = useListSearch()
  const navigate = useNavigate({ from: '/documents' })
  const onFilter = (chosen: string | undefined) => void navigate({ search: (before) => ({ ...before, in: chosen }) })
  return (
    <>
      <ListTools>
        <SearchBox label={documents.search} value={q} onSearch={onSearch} />
        <CollectionFilter value={collection} onChange={onFilter} />
      </ListTools>
      {q ? (
        <Hits q={q} collection={collection} onClear={() => onSearch('')} />
      ) : list.isLoading ? (
        <Skeleton lines={8} />
      ) : list.error === null && list.rows.length === 0 ? (
        collection ? (
          <NothingMatches onClear={() => onFilter(undefined)} />
        ) : (
          <Empty title={documents.emptyTitle} text={documents.emptyText} />
        )
      ) : (
        <PagedItems
          label={documents.title}
          list={list}
          itemKey={(one) => `${one.collection_id} ${one.file_path}`}
          title={(one) => <Open path={one.file_path} collection={one.collection_id} text={one.title} />}
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
  )
}

interface HitsProps {
  q: string
  collection: string | undefined
  onClear: () => void
}

function Hits({ q, collection, onClear }: HitsProps) {
  const { documents } = useMessages()
  const { data, error, refetch } = useQuery(hitsQuery(q, collection))
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
          <Open path={hit.file_path} collection={hit.collection_id} text={hit.title} />
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
  const { q, in: chosen } = documentsRoute.useSearch()
  return (
    <Link to="/documents" search={{ q, in: chosen, path, collection }} state={{ opened: true }} dir="auto">
      {text}
    </Link>
  )
}
