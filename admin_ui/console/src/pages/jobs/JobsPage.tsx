import { PageHead } from '../../components/ListTools.tsx'
import { ViewLinks } from '../../components/ViewLinks.tsx'
import { useMessages } from '../../messages/index.tsx'
import { JobList } from './JobList.tsx'
import { JobPanel } from './JobPanel.tsx'
import { jobsRoute } from './route.ts'
import { ScheduleList } from './ScheduleList.tsx'
import { SchedulePanel } from './SchedulePanel.tsx'

/** Work that goes on without a client, and what is done at times: one's own, for administrators everyone's. */
export function JobsPage() {
  const { jobs } = useMessages()
  const { view = 'jobs', id } = jobsRoute.useSearch()
  return (
    <>
      <PageHead title={jobs.title} />
      <ViewLinks
        label={jobs.views}
        selected={view}
        views={[
          { view: 'jobs', label: jobs.viewNames.jobs },
          { view: 'schedules', label: jobs.viewNames.schedules },
        ]}
      />
      {view === 'jobs' ? <JobList /> : <ScheduleList />}
      {id && (view === 'jobs' ? <JobPanel key={id} id={id} /> : <SchedulePanel key={id} id={id} />)}
    </>
  )
}
