import { useMemo } from 'react'
import { api, read } from '../../api/client.ts'
import { hasRight, useMe } from '../../api/queries.ts'
import type { SchemaJobView } from '../../api/schema.d.ts'
import { readSort, type Sort, writeSort } from '../../app/search.ts'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { Empty, NothingMatches } from '../../components/States.tsx'
import { Time } from '../../components/Time.tsx'
import { useListSearch } from '../../components/useListSearch.ts'
import { usePagedList } from '../../components/usePagedList.ts'
import { type Messages, useMessages } from '../../messages/index.tsx'
import { buildQuery, readFilters } from './filters.ts'
import { JobBadge } from './JobBadge.tsx'
import { JobProgress } from './JobProgress.tsx'
import { isUnfinished } from './jobStates.ts'
import styles from './jobs.module.css'
import { ListFilters, useSetSearch } from './ListFilters.tsx'
import { LOOK_AGAIN_MS } from './queries.ts'
import { JOB_SORTS, JOB_STATES, jobsRoute } from './route.ts'
import { useReason } from './useReason.ts'
import { useToolName } from './useToolName.ts'

type SortKey = (typeof JOB_SORTS)[number]
type NameTool = ReturnType<typeof useToolName>

const NEWEST_FIRST: Sort<SortKey> = { key: 'created_at', descending: true }

/** Jobs, with their progress as it is told. */
export function JobList() {
  const { jobs } = useMessages()
  const search = jobsRoute.useSearch()
  const filters = readFilters(search, JOB_STATES, hasRight(useMe(), 'administer'))
  const set = useSetSearch()
  const { onSort } = useListSearch()
  const sort = readSort(search.sort, JOB_SORTS) ?? NEWEST_FIRST
  const query = { ...buildQuery(filters), sort: writeSort(sort) as `${'' | '-'}${SortKey}` }
  const list = usePagedList(
    ['jobs', 'list', query],
    (cursor) => read(api.GET('/api/v1/jobs', { params: { query: { ...query, limit: 100, ...(cursor && { cursor }) } } })),
    (rows) => (rows.some(isUnfinished) ? LOOK_AGAIN_MS : false),
  )
  const nameTool = useToolName()
  const columns = useMemo(() => buildColumns(jobs, nameTool, filters.isOfAll), [jobs, nameTool, filters.isOfAll])
  const isFiltered = filters.state ?? filters.service ?? filters.user
  return (
    <>
      <ListFilters filters={filters} states={JOB_STATES} stateNames={jobs.states} />
      <DataTable
        label={jobs.title}
        columns={columns}
        list={list}
        rowKey={(job) => job.id}
        rowSearch={openJob}
        sort={sort}
        onSort={onSort}
        empty={
          isFiltered ? (
            <NothingMatches onClear={() => set({ state: undefined, service: undefined, user: undefined })} />
          ) : (
            <Empty title={jobs.emptyTitle} text={jobs.emptyText} />
          )
        }
      />
    </>
  )
}

function ProgressOrReason({ job }: { job: SchemaJobView }) {
  const reason = useReason(job)
  return reason ? <span className={styles.why}>{reason.why}</span> : <JobProgress job={job} />
}

const openJob = (job: SchemaJobView) => ({ id: job.id })

function buildColumns(jobs: Messages['jobs'], nameTool: NameTool, isOfAll: boolean): Column<SchemaJobView, SortKey>[] {
  const { columns } = jobs
  const person: Column<SchemaJobView, SortKey> = {
    id: 'person',
    header: columns.person,
    width: 'minmax(0, 1.2fr)',
    narrow: true,
    cell: (job) => job.user_email,
  }
  return [
    { id: 'tool', header: columns.tool, width: 'minmax(0, 1.6fr)', cell: nameTool },
    { id: 'state', header: columns.state, width: '10rem', narrow: true, cell: (job) => <JobBadge job={job} /> },
    ...(isOfAll ? [person] : []),
    { id: 'progress', header: columns.progressOrReason, width: 'minmax(0, 2fr)', narrow: 'line', cell: (job) => <ProgressOrReason job={job} /> },
    { id: 'asked', header: columns.asked, width: '7rem', sort: 'created_at', cell: (job) => <Time at={job.created_at} /> },
    { id: 'ended', header: columns.ended, width: '7rem', cell: (job) => job.finished_at && <Time at={job.finished_at} /> },
  ]
}
