import { useQueryClient } from '@tanstack/react-query'
import { api, read } from '../../api/client.ts'
import type { SchemaScheduleView } from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { Actions } from '../../components/Facts.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { ProblemNotice, useOnline } from '../../components/States.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useAction } from '../../components/useAction.ts'
import { useMessages } from '../../messages/index.tsx'
import { EditSchedule } from './EditSchedule.tsx'
import { scheduleOf } from './queries.ts'
import { jobsRoute } from './route.ts'
import { isPausable } from './scheduleRules.ts'
import { useToolName } from './useToolName.ts'

const PANEL = ['id', 'dialog'] as const
const DIALOG = ['dialog'] as const

interface ScheduleActionsProps {
  schedule: SchemaScheduleView
  isOwn: boolean
}

/** Pauses, resumes, runs and deletes a schedule. Only its person can resume it, so others type its name to pause it. */
export function ScheduleActions({ schedule, isOwn }: ScheduleActionsProps) {
  const { problems, schedules } = useMessages()
  const { dialog } = jobsRoute.useSearch()
  const { open, close } = useOverlay(DIALOG)
  const { clear } = useOverlay(PANEL)
  const nameTool = useToolName()
  const online = useOnline()
  const { busy, problem, run } = useAction()
  const name = schedule.title || nameTool(schedule)
  const changes = useChanges(schedule.id, name)
  const isPausableNow = isPausable(schedule)
  const buttons = { isPending: busy, isDisabled: !online }
  return (
    <>
      {problem && <ProblemNotice error={problem} title={problems.actionTitle} />}
      <Actions>
        {isOwn && schedule.state === 'active' && (
          <Button {...buttons} onPress={() => void run(changes.runNow)}>
            {schedules.runNow}
          </Button>
        )}
        {isOwn && schedule.state !== 'ended' && (
          <Button isDisabled={!online} onPress={() => open({ dialog: 'edit' })}>
            {schedules.edit}
          </Button>
        )}
        {isPausableNow && (
          <Button {...buttons} onPress={() => (isOwn ? void run(changes.pause) : open({ dialog: 'pause' }))}>
            {schedules.pause}
          </Button>
        )}
        {isOwn && schedule.state === 'paused' && (
          <Button kind="primary" {...buttons} onPress={() => void run(changes.resume)}>
            {schedules.resume}
          </Button>
        )}
        <Button kind="danger" isDisabled={!online} onPress={() => open({ dialog: 'remove' })}>
          {schedules.remove}
        </Button>
      </Actions>
      {dialog === 'edit' && isOwn && schedule.state !== 'ended' && <EditSchedule schedule={schedule} onClose={close} />}
      {dialog === 'pause' && isPausableNow && (
        <ConfirmDestroy
          title={schedules.pauseTitle(name)}
          confirm={schedules.pause}
          typed={name}
          onConfirm={async () => {
            await changes.pauseOfOther()
            close()
          }}
          onClose={close}
        >
          <p>{schedules.pauseText}</p>
        </ConfirmDestroy>
      )}
      {dialog === 'remove' && (
        <ConfirmDestroy
          title={schedules.removeTitle(name)}
          confirm={schedules.remove}
          typed={name}
          onConfirm={async () => {
            await changes.remove()
            clear()
          }}
          onClose={close}
        >
          <p>{schedules.removeText}</p>
        </ConfirmDestroy>
      )}
    </>
  )
}

function useChanges(id: string, name: string) {
  const { schedules } = useMessages()
  const queries = useQueryClient()
  const params = scheduleOf(id)
  const refresh = () => Promise.all(['schedules', 'mandates'].map((first) => queries.invalidateQueries({ queryKey: [first] })))
  const sendPause = async () => {
    await read(api.POST('/api/v1/schedules/{schedule_id}/pause', { params }))
    await refresh()
  }
  const sendResume = async () => {
    await read(api.POST('/api/v1/schedules/{schedule_id}/resumption', { params }))
    await refresh()
  }
  return {
    pause: async () => {
      await sendPause()
      showToast(schedules.paused(name), sendResume)
    },
    pauseOfOther: async () => {
      await sendPause()
      showToast(schedules.paused(name))
    },
    resume: async () => {
      await sendResume()
      showToast(schedules.resumed(name), sendPause)
    },
    runNow: async () => {
      await read(api.POST('/api/v1/schedules/{schedule_id}/run', { params }))
      await refresh()
      showToast(schedules.willRun(name))
    },
    remove: async () => {
      await read(api.DELETE('/api/v1/schedules/{schedule_id}', { params }))
      queries.removeQueries({ queryKey: ['schedules', 'one', id] })
      showToast(schedules.removed(name))
      await refresh()
    },
  }
}
