import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../../components/Button.tsx'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { DetailPanel } from '../../components/DetailPanel.tsx'
import { Actions, Facts } from '../../components/Facts.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { ProblemNotice, Skeleton, useOnline } from '../../components/States.tsx'
import { ExactTime } from '../../components/Time.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useFormat, useMessages } from '../../messages/index.tsx'
import styles from './documents.module.css'
import { collectionsQuery, deleteDocument, documentQuery } from './queries.ts'
import { documentsRoute } from './route.ts'

const DIALOG = ['dialog'] as const
const PANEL = ['dialog', 'path', 'collection'] as const

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
          {collection && <DocumentActions path={path} collection={collection} version={data.version} name={data.collection} />}
        </>
      ) : (
        <Skeleton lines={8} />
      )}
    </DetailPanel>
  )
}

interface DocumentActionsProps {
  path: string
  /** Its id. */
  collection: string
  /** As the collection is called. */
  name: string
  version: number
}

/** What a person may do with a document of a collection that they may write to. */
function DocumentActions(props: DocumentActionsProps) {
  const { documents } = useMessages()
  const { dialog } = documentsRoute.useSearch()
  const { open } = useOverlay(DIALOG)
  const online = useOnline()
  const { data = [] } = useQuery(collectionsQuery)
  if (!data.some((one) => one.id === props.collection && one.can_write)) return null
  return (
    <>
      <Actions>
        <Button kind="danger" isDisabled={!online} onPress={() => open({ dialog: 'delete' })}>
          {documents.delete}
        </Button>
      </Actions>
      {dialog === 'delete' && <DeleteDocument {...props} />}
    </>
  )
}

function DeleteDocument({ path, collection, name, version }: DocumentActionsProps) {
  const { documents } = useMessages()
  const queries = useQueryClient()
  const { close } = useOverlay(DIALOG)
  const { clear } = useOverlay(PANEL)
  // What the person has seen: a newer one is not deleted by the same question.
  const [seen] = useState(version)
  const remove = async () => {
    try {
      await deleteDocument(path, collection, seen)
    } catch (error) {
      void queries.invalidateQueries({ queryKey: ['documents', 'one'] })
      throw error
    }
    clear()
    queries.removeQueries({ queryKey: documentQuery(path, collection).queryKey })
    await queries.invalidateQueries({ queryKey: ['documents'] })
    showToast(documents.deleted(path))
  }
  return (
    <ConfirmDestroy title={documents.deleteTitle(path)} confirm={documents.delete} typed={path} onConfirm={remove} onClose={close}>
      <p dir="auto">{documents.deleteText(name)}</p>
    </ConfirmDestroy>
  )
}
