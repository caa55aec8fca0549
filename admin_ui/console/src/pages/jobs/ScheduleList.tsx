import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { api, read } from '../../api/client.ts'
import { hasRight, useMe } from '../../api/queries.ts'
import type { SchemaScheduleView } from '../../api/schema.d.ts'
import { readSort, type Sort, writeSort } from '../../app/search.ts'
import { type Column, DataTable } from '../../components/DataTable.tsx'
import { Empty, NothingMatches } from '../../components/States.tsx'
import { Time } from '../../components/Time.tsx'
import { useListSearch } from '../../components/useListSearch.ts'
import { usePagedList } from '../../components/usePagedList.ts'
import { type Messages, useFormat, useMessages } from '../../messages/index.tsx'
import { buildQuery, readFilters } from './filters.ts'
import { ListFilters, useSetSearch } from './ListFilters.tsx'
import { JOB_SORTS, jobsRoute, SCHEDULE_STATES } from './route.ts'
import { ScheduleBadge } from './ScheduleBadge.tsx'
import { ScheduleRule } from './ScheduleRule.tsx'
import { useToolName } from './useToolName.ts'

type SortKey = (typeof JOB_SORTS)[number]

/** A run that is skipped moves the next one on, and is told to nobody. */
const RUNS_MOVE_ON_MS = 60_000
const NEWEST_FIRST: Sort<SortKey> = { key: 'created_at', descending: true }

/** Calls that are made at times, with their next run in the time zone of whoever looks. */
export function ScheduleList() {
  const { jobs, schedules } = useMessages()
  const search = jobsRoute.useSearch()
  const filters = readFilters(search, SCHEDULE_STATES, hasRight(useMe(), 'administer'))
  const set = useSetSearch()
  const { onSort } = useListSearch()
  const sort = readSort(search.sort, JOB_SORTS) ?? NEWEST_FIRST
  const query = { ...buildQuery(filters), sort: writeSort(sort) as `${'' | '-'}${SortKey}` }
  const list = usePagedList(
    ['schedules', 'list', query],
    (cursor) => read(api.GET('/api/v1/schedules', { params: { query: { ...query, limit: 100, ...(cursor && { cursor }) } } })),
    () => RUNS_MOVE_ON_MS,
  )
  const columns = useColumns(filters.isOfAll)
  const isFiltered = filters.state ?? filters.service ?? filters.user
  return (
    <>
      <ListFilters filters={filters} states={SCHEDULE_STATES} stateNames={schedules.states} />
      <DataTable
        label={jobs.viewNames.schedules}
        columns={columns}
        list={list}
        rowKey={(schedule) => schedule.id}
        rowSearch={openSchedule}
        sort={sort}
        onSort={onSort}
        empty={
          isFiltered ? (
            <NothingMatches onClear={() => set({ state: undefined, service: undefined, user: undefined })} />
          ) : (
            <Empty title={schedules.emptyTitle} text={schedules.emptyText} />
          )
        }
      />
    </>
  )
}

const openSchedule = (schedule: SchemaScheduleView) => ({ id: schedule.id })

function useColumns(isOfAll: boolean): Column<SchemaScheduleView, SortKey>[] {
  const { jobs, schedules } = useMessages()
  const format = useFormat()
  const nameTool = useToolName()
  return useMemo(
    () => buildColumns(jobs, schedules, format, nameTool, isOfAll),
    [jobs, schedules, format, nameTool, isOfAll],
  )
}

function buildColumns(
  jobs: Messages['jobs'],
  { columns, noNext }: Messages['schedules'],
  format: ReturnType<typeof useFormat>,
  nameTool: ReturnType<typeof useToolName>,
  isOfAll: boolean,
): Column<SchemaScheduleView, SortKey>[] {
  const tool: Column<SchemaScheduleView, SortKey> = { id: 'tool', header: columns.tool, width: 'minmax(0, 1.6fr)', cell: nameTool }
  const person: Column<SchemaScheduleView, SortKey> = {
    id: 'person',
    header: jobs.columns.person,
    width: 'minmax(0, 1.4fr)',
    narrow: 'line',
    cell: (schedule) => schedule.user_email,
  }
  return [
    { id: 'title', header: columns.title, width: 'minmax(0, 1.6fr)', cell: (schedule) => schedule.title || nameTool(schedule) },
    { id: 'state', header: jobs.columns.state, width: '10rem', narrow: true, cell: (schedule) => <ScheduleBadge state={schedule.state} /> },
    isOfAll ? person : tool,
    { id: 'when', header: columns.when, width: 'minmax(0, 1.2fr)', cell: (schedule) => <ScheduleRule schedule={schedule} /> },
    {
      id: 'next',
      header: columns.next,
      width: '8.5rem',
      narrow: 'labelled',
      cell: ({ next_run_at }) =>
        next_run_at ? (
          <time dateTime={next_run_at} title={format.exact(next_run_at)}>
            {format.hour(next_run_at)}
          </time>
        ) : (
          noNext
        ),
    },
    { id: 'last', header: columns.last, width: '6.5rem', cell: (schedule) => <LastRun schedule={schedule} /> },
    { id: 'made', header: columns.made, width: '6.5rem', sort: 'created_at', cell: (schedule) => <Time at={schedule.created_at} /> },
  ]
}

/** When it ran last, which leads to the job for as long as that is kept. */
export function LastRun({ schedule }: { schedule: SchemaScheduleView }) {
  const me = useMe()
  if (!schedule.last_run_at) return null
  if (!schedule.last_job_id) return <Time at={schedule.last_run_at} />
  return (
    <Link to="/jobs" search={{ id: schedule.last_job_id, ...(schedule.user_id !== me.id && { of: 'all' }) }}>
      <Time at={schedule.last_run_at} />
    </Link>
  )
}
