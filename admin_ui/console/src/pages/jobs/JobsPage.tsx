import { CalendarPlus } from 'lucide-react'
import { useShortcut } from '../../app/shortcuts.tsx'
import { Button } from '../../components/Button.tsx'
import { PageHead } from '../../components/ListTools.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { ViewLinks } from '../../components/ViewLinks.tsx'
import { useMessages } from '../../messages/index.tsx'
import { CreateSchedule } from './CreateSchedule.tsx'
import { JobList } from './JobList.tsx'
import { JobPanel } from './JobPanel.tsx'
import { jobsRoute } from './route.ts'
import { ScheduleList } from './ScheduleList.tsx'
import { SchedulePanel } from './SchedulePanel.tsx'

const DIALOG = ['dialog', 'tool', 'params'] as const

/** Work that goes on without a client, and what is done at times: one's own, for administrators everyone's. */
export function JobsPage() {
  const { jobs, schedules } = useMessages()
  const { view = 'jobs', id, dialog, tool, params } = jobsRoute.useSearch()
  const { open, close } = useOverlay(DIALOG)
  const create = () => open({ view: 'schedules', dialog: 'create' })
  useShortcut('n', schedules.create, create)
  return (
    <>
      <PageHead title={jobs.title}>
        <Button kind="primary" icon={CalendarPlus} onPress={create}>
          {schedules.create}
        </Button>
      </PageHead>
      <ViewLinks
        label={jobs.views}
        selected={view}
        views={[
          { view: 'jobs', label: jobs.viewNames.jobs },
          { view: 'schedules', label: jobs.viewNames.schedules },
        ]}
      />
      {view === 'jobs' ? <JobList /> : <ScheduleList />}
      {view === 'schedules' && dialog === 'create' && <CreateSchedule onClose={close} tool={tool} params={params} />}
      {id && (view === 'jobs' ? <JobPanel key={id} id={id} /> : <SchedulePanel key={id} id={id} />)}
    </>
  )
}
