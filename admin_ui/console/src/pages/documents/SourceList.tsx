import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ItemList } from '../../components/Facts.tsx'
import { Empty, ProblemNotice, Skeleton } from '../../components/States.tsx'
import { StatusBadge } from '../../components/StatusBadge.tsx'
import { Time } from '../../components/Time.tsx'
import { useMessages } from '../../messages/index.tsx'
import { sourcesQuery, type StoredSource } from './queries.ts'
import { describePlace, findSourceState, SOURCE_TONES } from './sources.ts'

/** The person's sources; those of others are theirs alone. */
export function SourceList() {
  const { documents } = useMessages()
  const { sources } = documents
  const { data, error, refetch } = useQuery(sourcesQuery)
  if (error && !data) return <ProblemNotice error={error} onRetry={() => void refetch()} />
  if (!data) return <Skeleton lines={8} />
  if (data.length === 0) return <Empty title={sources.emptyTitle} text={sources.emptyText} />
  return (
    <ItemList
      label={documents.viewNames.sources}
      items={data}
      itemKey={(one) => one.source_id}
      title={(one) => (
        <Link to="/documents" search={{ view: 'sources', id: one.source_id }} state={{ opened: true }} dir="auto">
          {describePlace(one.source, sources.places)}
        </Link>
      )}
      detail={(one) => (
        <>
          {one.collection}
          {one.last_run && (
            <>
              {' · '}
              <Time at={one.last_run.at} />
            </>
          )}
        </>
      )}
      end={(one) => <SourceBadge source={one} />}
      empty={sources.emptyTitle}
    />
  )
}

export function SourceBadge({ source }: { source: StoredSource }) {
  const { states } = useMessages().documents.sources
  const state = findSourceState(source.last_run)
  return <StatusBadge tone={SOURCE_TONES[state]} text={states[state]} />
}
