import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaScheduleView } from '../../api/schema.d.ts'
import { ModalForm } from '../../components/ModalForm.tsx'
import { showToast } from '../../components/toasts.tsx'
import { formatWallClock } from '../../messages/format.ts'
import { useMessages } from '../../messages/index.tsx'
import { scheduleOf } from './queries.ts'
import { ScheduleFields } from './ScheduleFields.tsx'
import { findKind, isSameRule, readRule, readScheduleData } from './scheduleRules.ts'
import { useToolName } from './useToolName.ts'

interface EditScheduleProps {
  schedule: SchemaScheduleView
  onClose: () => void
}

/** Changes a schedule of one's own in all but its call. */
export function EditSchedule({ schedule, onClose }: EditScheduleProps) {
  const { common, schedules } = useMessages()
  const queries = useQueryClient()
  const nameTool = useToolName()
  const [kind, setKind] = useState(findKind(schedule))
  const save = async (data: FormData) => {
    const rule = readRule(data, kind)
    const before = { ...schedule, at: schedule.at ? formatWallClock(schedule.at, schedule.time_zone) : '' }
    // Times that stay are not sent: that of a single run may have gone by.
    const body = { ...readScheduleData(data), ...(isSameRule(rule, before) ? { cron: '', at: '' } : rule) }
    const changed = await read(api.PATCH('/api/v1/schedules/{schedule_id}', { params: scheduleOf(schedule.id), body }))
    await Promise.all(['schedules', 'mandates'].map((first) => queries.invalidateQueries({ queryKey: [first] })))
    showToast(schedules.saved(changed.title))
    onClose()
  }
  return (
    <ModalForm title={schedules.editTitle(schedule.title || nameTool(schedule))} submit={common.save} onClose={onClose} onSubmit={save}>
      <p>{schedules.callStays}</p>
      <ScheduleFields schedule={schedule} kind={kind} onKind={setKind} />
    </ModalForm>
  )
}
