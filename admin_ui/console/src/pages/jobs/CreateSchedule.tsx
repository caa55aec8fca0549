import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { getAccessToken } from '../../api/accessToken.ts'
import { api, read } from '../../api/client.ts'
import { Problem } from '../../api/problems.ts'
import { Button } from '../../components/Button.tsx'
import { Section } from '../../components/Facts.tsx'
import { FindBox } from '../../components/FindBox.tsx'
import { useLocalized } from '../../components/Localized.tsx'
import { ModalForm } from '../../components/ModalForm.tsx'
import { ProblemNotice } from '../../components/States.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useMessages } from '../../messages/index.tsx'
import { SchemaForm } from '../../schema/SchemaForm.tsx'
import { type SchemaErrors, validate } from '../../schema/validate.ts'
import { toolQuery } from '../tools/queries.ts'
import { splitToolName } from '../tools/route.ts'
import styles from './jobs.module.css'
import { ScheduleFields } from './ScheduleFields.tsx'
import { readParams, readRule, readScheduleData, type RuleKind } from './scheduleRules.ts'

const NO_ERRORS: SchemaErrors = new Map()
/** What a gateway has of its own, which is not scheduled. */
const BUILT_IN = ['jobs', 'results']

interface CreateScheduleProps {
  onClose: () => void
  /** What the form begins with: a tool, and its arguments as JSON. */
  tool: string | undefined
  params: string | undefined
}

/** Has a tool called at times. A gateway checks the call, with an access token of this session (decision 133). */
export function CreateSchedule({ onClose, tool: firstTool = '', params: firstParams = '' }: CreateScheduleProps) {
  const { playground, schedules, schemas } = useMessages()
  const queries = useQueryClient()
  const navigate = useNavigate({ from: '/jobs' })
  const localized = useLocalized()
  const findTools = useToolSearch()
  const [name, setName] = useState(firstTool)
  const { data: tool, error, refetch } = useQuery({ ...toolQuery(...splitToolName(name)), enabled: name !== '' })
  const [kind, setKind] = useState<RuleKind>('cron')
  const [params, setParams] = useState(() => readParams(firstParams))
  const [errors, setErrors] = useState(NO_ERRORS)
  // Sent again after a lost answer, it makes no second schedule.
  const [requestKey] = useState(() => crypto.randomUUID())
  const create = async (data: FormData) => {
    if (!tool) throw new Problem(400, { detail: schedules.noTool })
    const found = validate(tool.parameters, params, schemas)
    setErrors(found)
    if (found.size > 0) throw new Problem(400, { detail: playground.wrong(found.size) })
    const rule = { time_zone: 'UTC', ...readRule(data, kind) }
    const body = { ...readScheduleData(data), ...rule, module: tool.module, tool: tool.name, params }
    const headers = { Authorization: `Bearer ${await getAccessToken()}` }
    const header = { 'idempotency-key': requestKey }
    const made = await read(api.POST('/api/v1/schedules', { body, headers, params: { header }, credentials: 'omit' }))
    await queries.invalidateQueries({ queryKey: ['schedules'] })
    showToast(schedules.created(made.title))
    await navigate({ search: { view: 'schedules', id: made.id }, replace: true })
  }
  const choose = (id: string) => {
    setName(id)
    setParams({})
    setErrors(NO_ERRORS)
  }
  return (
    <ModalForm title={schedules.create} submit={schedules.create} onClose={onClose} onSubmit={create}>
      {name === '' ? (
        <FindBox label={schedules.tool} resource="tools" find={findTools} onChoose={({ id }) => choose(id)} />
      ) : (
        <div className={styles.chosen}>
          <span>
            {tool && localized(tool.title)} <code>{name}</code>
          </span>
          <Button kind="quiet" onPress={() => choose('')}>
            {schedules.otherTool}
          </Button>
        </div>
      )}
      {error && <ProblemNotice error={error} onRetry={() => void refetch()} />}
      {tool && (
        <Section title={playground.parameters}>
          <SchemaForm
            schema={tool.parameters}
            value={params}
            onChange={(value) => {
              setParams(value)
              setErrors(NO_ERRORS)
            }}
            errors={errors}
          />
        </Section>
      )}
      <ScheduleFields kind={kind} onKind={setKind} />
    </ModalForm>
  )
}

/** Finds tools that the person may use and that can be scheduled, by words. */
function useToolSearch() {
  const localized = useLocalized()
  return async (words: string) => {
    const query = { permitted: true, limit: 50, ...(words && { q: words }) }
    const { items } = await read(api.GET('/api/v1/tools', { params: { query } }))
    return items
      .filter(({ kind, module }) => kind === 'tool' && !BUILT_IN.includes(module))
      .map(({ module, name, title }) => ({ id: `${module}.${name}`, text: localized(title), detail: `${module}.${name}` }))
  }
}
