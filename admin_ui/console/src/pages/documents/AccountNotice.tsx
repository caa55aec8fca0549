import { useQuery } from '@tanstack/react-query'
import { Problem } from '../../api/problems.ts'
import { Button } from '../../components/Button.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { useMessages } from '../../messages/index.tsx'
import { ConnectDialog } from '../tools/ConnectDialog.tsx'
import { moduleQuery } from '../tools/queries.ts'
import styles from './documents.module.css'
import { documentsRoute } from './route.ts'
import type { SourceKind } from './sources.ts'

const DIALOG = ['dialog'] as const

interface AccountNoticeProps {
  kind: SourceKind
  /** The source to come back to. */
  source: string
}

/** That a source cannot be read, as there is no account that works or no such service, and what to do. */
export function AccountNotice({ kind, source }: AccountNoticeProps) {
  const { documents, tools } = useMessages()
  const { sources } = documents
  const { dialog } = documentsRoute.useSearch()
  const { open, close } = useOverlay(DIALOG)
  const { data, error } = useQuery(moduleQuery(kind))
  const service = sources.kinds[kind]
  const state = data?.connection?.state
  // Of a service none of whose tools the person may use, they learn nothing.
  const isMissing = data?.connection === null || (error instanceof Problem && error.code === 'not_found')
  if (!isMissing && state !== 'needs_connect' && state !== 'broken') return null
  return (
    <section className={styles.notice} aria-label={sources.account}>
      <p>{isMissing ? sources.noService(service) : sources.noAccount(service)}</p>
      {!isMissing && (
        <Button onPress={() => open({ dialog: 'connect' })}>
          {state === 'broken' ? tools.reconnectModule(service) : tools.connectModule(service)}
        </Button>
      )}
      {dialog === 'connect' && !isMissing && (
        <ConnectDialog module={kind} returnPath={`/console/documents?view=sources&id=${source}`} onClose={close} />
      )}
    </section>
  )
}
