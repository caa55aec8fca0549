import { useQueryClient } from '@tanstack/react-query'
import { api, read } from '../../api/client.ts'
import type { SchemaJobView } from '../../api/schema.d.ts'
import { SelectField } from '../../components/Field.tsx'
import { ProblemNotice, useOnline } from '../../components/States.tsx'
import { useAction } from '../../components/useAction.ts'
import { useMessages } from '../../messages/index.tsx'
import { pathOf } from './queries.ts'
import { NOTIFIES } from './scheduleRules.ts'

/** After which ends of a job of one's own a mail comes. */
export function NotifyField({ job }: { job: SchemaJobView }) {
  const { jobs, problems } = useMessages()
  const queries = useQueryClient()
  const online = useOnline()
  const { busy, problem, run } = useAction()
  const save = (notify: SchemaJobView['notify']) =>
    run(async () => {
      await read(api.PATCH('/api/v1/jobs/{job_id}', { params: pathOf(job.id), body: { notify } }))
      await queries.invalidateQueries({ queryKey: ['jobs'] })
    })
  return (
    <div>
      <SelectField
        label={jobs.notify}
        help={jobs.notifyHelp}
        value={job.notify}
        isDisabled={busy || !online}
        choices={NOTIFIES.map((value) => ({ value, label: jobs.notifies[value] }))}
        onChange={(value) => void save(value)}
      />
      {problem && <ProblemNotice error={problem} title={problems.actionTitle} />}
    </div>
  )
}
