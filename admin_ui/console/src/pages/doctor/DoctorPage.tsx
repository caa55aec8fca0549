import { useQuery } from '@tanstack/react-query'
import { RotateCw } from 'lucide-react'
import { api, read } from '../../api/client.ts'
import { hasRight, useMe } from '../../api/queries.ts'
import type { SchemaDoctorView, SchemaFindingView } from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import { ItemList } from '../../components/Facts.tsx'
import { Localized } from '../../components/Localized.tsx'
import { PageHead } from '../../components/ListTools.tsx'
import report from '../../components/Report.module.css'
import { ProblemNotice, Skeleton } from '../../components/States.tsx'
import { StatusBadge, type Tone } from '../../components/StatusBadge.tsx'
import { Time } from '../../components/Time.tsx'
import { nameCheck } from '../../messages/checks.ts'
import { useFormat, useMessages } from '../../messages/index.tsx'

const TONES: Record<SchemaFindingView['state'], Tone> = { ok: 'ok', warning: 'warn', error: 'bad' }
const URGENCY: readonly SchemaFindingView['state'][] = ['error', 'warning', 'ok']

/** What is wrong and what to do, as `mcpist doctor` says it. */
export function DoctorPage() {
  const { doctor } = useMessages()
  const operates = hasRight(useMe(), 'operate')
  const { data, dataUpdatedAt, error, isFetching, refetch } = useQuery({
    queryKey: ['doctor'],
    queryFn: () => read(api.GET('/api/v1/doctor', {})),
  })
  return (
    <>
      <PageHead title={doctor.title}>
        <Button icon={RotateCw} isPending={isFetching} onPress={() => void refetch()}>
          {doctor.again}
        </Button>
      </PageHead>
      <p>{operates ? doctor.help.operator : doctor.help.administrator}</p>
      {error ? (
        <ProblemNotice error={error} onRetry={() => void refetch()} />
      ) : data ? (
        <Report view={data} at={new Date(dataUpdatedAt).toISOString()} />
      ) : (
        <Skeleton lines={8} />
      )}
    </>
  )
}

function Report({ view, at }: { view: SchemaDoctorView; at: string }) {
  const { doctor } = useMessages()
  const format = useFormat()
  const count = (state: SchemaFindingView['state']) => format.number(view.checks.filter((one) => one.state === state).length)
  const checks = URGENCY.flatMap((state) => view.checks.filter((one) => one.state === state)).map((one, place) => ({ ...one, place }))
  return (
    <div className={report.report}>
      <p>
        <StatusBadge tone={view.healthy ? 'ok' : 'bad'} text={view.healthy ? doctor.healthy : doctor.unhealthy} />{' '}
        {doctor.counts(count('error'), count('warning'))} · {doctor.checked} <Time at={at} />
      </p>
      <ItemList
        label={doctor.list}
        items={checks}
        itemKey={(one) => `${one.place} ${one.check}`}
        title={(one) => nameCheck(doctor, one.check)}
        detail={(one) => <Localized text={{ en: one.message, ja: one.message_ja }} />}
        end={(one) => <StatusBadge tone={TONES[one.state]} text={doctor.states[one.state]} />}
        empty={doctor.empty}
      />
    </div>
  )
}
