import { useQuery } from '@tanstack/react-query'
import { DetailPanel } from '../../components/DetailPanel.tsx'
import { Facts } from '../../components/Facts.tsx'
import { ProblemNotice, Skeleton } from '../../components/States.tsx'
import { ExactTime } from '../../components/Time.tsx'
import { useFormat, useMessages } from '../../messages/index.tsx'
import styles from './documents.module.css'
import { documentQuery } from './queries.ts'

interface DocumentPanelProps {
  path: string
  collection: string | undefined
  onClose: () => void
}

/** A document with its text as it is stored. */
export function DocumentPanel({ path, collection, onClose }: DocumentPanelProps) {
  const { common, documents } = useMessages()
  const format = useFormat()
  const { data, error, refetch } = useQuery(documentQuery(path, collection))
  return (
    <DetailPanel title={data?.title ?? path} subtitle={path} onClose={onClose} padded>
      {error ? (
        <ProblemNotice error={error} onRetry={() => void refetch()} />
      ) : data ? (
        <>
          <Facts
            facts={[
              [documents.form.collection, data.collection],
              [documents.form.tags, data.tags.join(', ') || common.none],
              [documents.version, format.number(data.version)],
              [documents.changed, <ExactTime key="changed" at={data.updated_at} />],
            ]}
          />
          <pre className={styles.text} dir="auto" tabIndex={0} role="region" aria-label={documents.text}>
            {data.content}
          </pre>
        </>
      ) : (
        <Skeleton lines={8} />
      )}
    </DetailPanel>
  )
}
