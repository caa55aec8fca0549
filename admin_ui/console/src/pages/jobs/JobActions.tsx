import { useQueryClient } from '@tanstack/react-query'
import { api, read } from '../../api/client.ts'
import type { SchemaJobView } from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { Actions } from '../../components/Facts.tsx'
import { useLocalized } from '../../components/Localized.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { ProblemNotice, useOnline } from '../../components/States.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useAction } from '../../components/useAction.ts'
import { useMessages } from '../../messages/index.tsx'
import { isCancellable, isRetriable, mayTakeEffectTwice } from './jobStates.ts'
import { pathOf } from './queries.ts'
import { jobsRoute } from './route.ts'

const DIALOG = ['dialog'] as const

interface JobActionsProps {
  job: SchemaJobView
  isOwn: boolean
}

/** Cancels a job, and tries one's own again. What cannot be taken back is typed. */
export function JobActions({ job, isOwn }: JobActionsProps) {
  const { jobs, problems } = useMessages()
  const { dialog } = jobsRoute.useSearch()
  const { open, close } = useOverlay(DIALOG)
  const localized = useLocalized()
  const online = useOnline()
  const { busy, problem, run } = useAction()
  const { cancel, retry } = useChanges(job)
  const name = localized(job.tool_title)
  // One's own that has not begun can be queued again as it was.
  const isUndone = isOwn && job.state === 'queued' && job.attempt === 0
  const asksFirst = mayTakeEffectTwice(job)
  const canRetry = isOwn && isRetriable(job)
  return (
    <>
      {problem && <ProblemNotice error={problem} title={problems.actionTitle} />}
      <Actions>
        {isCancellable(job) && (
          <Button kind="danger" isDisabled={!online} onPress={() => open({ dialog: 'cancel' })}>
            {jobs.cancel}
          </Button>
        )}
        {canRetry && (
          <Button
            kind="primary"
            isPending={busy}
            isDisabled={!online}
            onPress={() => (asksFirst ? open({ dialog: 'retry' }) : void run(() => retry(name)))}
          >
            {jobs.retry}
          </Button>
        )}
      </Actions>
      {dialog === 'cancel' && isCancellable(job) && (
        <ConfirmDestroy
          title={jobs.cancelTitle(name)}
          confirm={jobs.cancel}
          typed={isUndone ? null : name}
          onConfirm={async () => {
            await cancel(name, isUndone)
            close()
          }}
          onClose={close}
        >
          <p>{job.state === 'queued' ? jobs.cancelWaiting : jobs.cancelRunning}</p>
        </ConfirmDestroy>
      )}
      {dialog === 'retry' && canRetry && (
        <ConfirmDestroy
          title={jobs.retryTitle(name)}
          confirm={jobs.retry}
          typed={name}
          onConfirm={async () => {
            await retry(name)
            close()
          }}
          onClose={close}
        >
          <p>{jobs.retryText}</p>
        </ConfirmDestroy>
      )}
    </>
  )
}

function useChanges(job: SchemaJobView) {
  const { jobs } = useMessages()
  const queries = useQueryClient()
  const refresh = () => queries.invalidateQueries({ queryKey: ['jobs'] })
  const sendRetry = async () => {
    await read(api.POST('/api/v1/jobs/{job_id}/retry', { params: pathOf(job.id) }))
    await refresh()
  }
  const retry = async (name: string) => {
    await sendRetry()
    showToast(jobs.retried(name))
  }
  const cancel = async (name: string, isUndone: boolean) => {
    const told = await read(api.POST('/api/v1/jobs/{job_id}/cancellation', { params: pathOf(job.id) }))
    await refresh()
    if (told.state !== 'cancelled') showToast(jobs.toldToEnd(name))
    else if (isUndone) showToast(jobs.cancelled(name), sendRetry)
    else showToast(jobs.cancelled(name))
  }
  return { cancel, retry }
}
