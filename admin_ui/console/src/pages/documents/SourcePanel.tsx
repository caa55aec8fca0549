import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { RefreshCw } from 'lucide-react'
import { Button } from '../../components/Button.tsx'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { DetailPanel } from '../../components/DetailPanel.tsx'
import { Actions, Facts } from '../../components/Facts.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { ProblemNotice, Skeleton, useOnline } from '../../components/States.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useAction } from '../../components/useAction.ts'
import { useMessages } from '../../messages/index.tsx'
import { isUnfinished } from '../jobs/jobStates.ts'
import { jobQuery } from '../jobs/queries.ts'
import { AccountNotice } from './AccountNotice.tsx'
import styles from './documents.module.css'
import { removeSource, sourcesQuery, startSync, type StoredSource } from './queries.ts'
import { documentsRoute } from './route.ts'
import { SourceBadge } from './SourceList.tsx'
import { describePlace } from './sources.ts'
import { SourceReport } from './SourceReport.tsx'
import { SyncJob } from './SyncJob.tsx'

const PANEL = ['id', 'job', 'dialog'] as const
const DIALOG = ['dialog'] as const
/** The job of a source, in the link that schedules it. */
const SYNC_TOOL = 'rag.sync_documents'

/** A source: what its last run has done, and what can be done with it. */
export function SourcePanel({ id }: { id: string }) {
  const { sources } = useMessages().documents
  const { close } = useOverlay(PANEL)
  const { data, error, refetch } = useQuery(sourcesQuery)
  const source = data?.find((one) => one.source_id === id)
  return (
    <DetailPanel title={source ? describePlace(source.source, sources.places) : sources.source} onClose={close} padded>
      {source ? (
        <SourceDetail source={source} />
      ) : data ? (
        <p>{sources.gone}</p>
      ) : error ? (
        <ProblemNotice error={error} onRetry={() => void refetch()} />
      ) : (
        <Skeleton lines={6} />
      )}
    </DetailPanel>
  )
}

function SourceDetail({ source }: { source: StoredSource }) {
  const { documents, problems } = useMessages()
  const { sources } = documents
  const { job, dialog } = documentsRoute.useSearch()
  const { open, replace } = useOverlay(DIALOG)
  const online = useOnline()
  const { busy, problem, run } = useAction()
  const { data: current } = useQuery({ ...jobQuery(job ?? ''), enabled: job !== undefined })
  const isSyncing = job !== undefined && (current === undefined || isUnfinished(current))
  const { kind } = source.source
  const schedule = JSON.stringify({ source_id: source.source_id })
  return (
    <div className={styles.panel}>
      <AccountNotice kind={kind} source={source.source_id} />
      {job && <SyncJob id={job} />}
      <Facts
        facts={[
          [sources.state, <SourceBadge key="state" source={source} />],
          [sources.kind, sources.kinds[kind]],
          ...(source.source.ref && source.source.ref !== 'HEAD' ? [[sources.ref, source.source.ref] as const] : []),
          [documents.form.collection, source.collection],
        ]}
      />
      {source.last_run && <SourceReport report={source.last_run} />}
      {problem && <ProblemNotice error={problem} title={problems.actionTitle} />}
      <Actions>
        <Button
          kind="primary"
          icon={RefreshCw}
          isPending={busy || isSyncing}
          isDisabled={!online}
          onPress={() => void run(async () => replace({ job: await startSync(source.source_id) }))}
        >
          {sources.sync}
        </Button>
        <Button kind="danger" isDisabled={!online} onPress={() => open({ dialog: 'remove' })}>
          {sources.remove}
        </Button>
      </Actions>
      <p>
        <Link to="/jobs" search={{ view: 'schedules', dialog: 'create', tool: SYNC_TOOL, params: schedule }}>
          {sources.schedule}
        </Link>
      </p>
      {dialog === 'remove' && <RemoveSource source={source} />}
    </div>
  )
}

function RemoveSource({ source }: { source: StoredSource }) {
  const { sources } = useMessages().documents
  const queries = useQueryClient()
  const { close } = useOverlay(DIALOG)
  const { clear } = useOverlay(PANEL)
  const name = describePlace(source.source, sources.places)
  const remove = async () => {
    const documents = await removeSource(source.source_id)
    clear()
    await queries.invalidateQueries({ queryKey: ['documents'] })
    showToast(sources.removed(name, documents))
  }
  return (
    <ConfirmDestroy title={sources.removeTitle(name)} confirm={sources.remove} typed={name} onConfirm={remove} onClose={close}>
      <p dir="auto">{sources.removeText(source.collection)}</p>
    </ConfirmDestroy>
  )
}
