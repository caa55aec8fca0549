import { PageHead } from '../../components/ListTools.tsx'
import { useMessages } from '../../messages/index.tsx'
import { JobList } from './JobList.tsx'
import { JobPanel } from './JobPanel.tsx'
import { jobsRoute } from './route.ts'

/** Work that goes on without a client: one's own, for administrators everyone's. */
export function JobsPage() {
  const { jobs } = useMessages()
  const { id } = jobsRoute.useSearch()
  return (
    <>
      <PageHead title={jobs.title} />
      <JobList />
      {id && <JobPanel key={id} id={id} />}
    </>
  )
}
