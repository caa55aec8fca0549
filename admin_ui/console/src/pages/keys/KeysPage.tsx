import { useQuery } from '@tanstack/react-query'
import { RotateCw } from 'lucide-react'
import { api, read } from '../../api/client.ts'
import type { SchemaKeysView, SchemaKeyView } from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import { CopyField } from '../../components/CopyField.tsx'
import { Facts, ItemList, Section } from '../../components/Facts.tsx'
import { PageHead } from '../../components/ListTools.tsx'
import { ProblemNotice, Skeleton } from '../../components/States.tsx'
import { StatusBadge } from '../../components/StatusBadge.tsx'
import { useFormat, useMessages } from '../../messages/index.tsx'
import report from '../../components/Report.module.css'
import { type KeyStep, listKeySteps } from './steps.ts'

/** How the vault's keys stand, how far a rotation has come, and what is to be done. */
export function KeysPage() {
  const { doctor, keys } = useMessages()
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ['keys'],
    queryFn: () => read(api.GET('/api/v1/keys', {})),
  })
  return (
    <>
      <PageHead title={keys.title}>
        <Button icon={RotateCw} isPending={isFetching} onPress={() => void refetch()}>
          {doctor.again}
        </Button>
      </PageHead>
      <p>{keys.help}</p>
      {error ? <ProblemNotice error={error} onRetry={() => void refetch()} /> : data ? <Report view={data} /> : <Skeleton lines={8} />}
    </>
  )
}

function Report({ view }: { view: SchemaKeysView }) {
  const { keys } = useMessages()
  const format = useFormat()
  const steps = listKeySteps(view)
  return (
    <div className={report.report}>
      <p>
        <StatusBadge tone={view.healthy ? 'ok' : 'bad'} text={view.healthy ? keys.healthy : keys.unhealthy} />
      </p>
      {view.error && <p lang="en">{view.error}</p>}
      <Facts
        facts={[
          [keys.file, <code key="file">{view.file}</code>],
          [keys.providers, view.key_providers.join(', ')],
          [keys.rewrapLeft, format.number(view.to_rewrap)],
          [keys.reencryptLeft, format.number(view.to_reencrypt)],
        ]}
      />
      <Section title={keys.next} level={2}>
        {steps.length === 0 ? <p>{keys.nothing}</p> : steps.map((step) => <Step key={nameStep(step)} step={step} />)}
      </Section>
      <Section title={keys.list} level={2}>
        <ItemList
          label={keys.list}
          items={view.keys}
          itemKey={(key) => key.kek_id}
          title={(key) => key.kek_id}
          detail={(key) => keys.wraps(format.number(key.tenants), format.number(key.data_keys), format.number(key.signing_keys))}
          end={(key) => <KeyState state={key} />}
          empty={keys.empty}
        />
      </Section>
    </div>
  )
}

const nameStep = (step: KeyStep) => ('id' in step ? step.id : step.name)

function Step({ step }: { step: KeyStep }) {
  const { keys } = useMessages()
  if (step.name === 'restore') return <p>{keys.steps.restore}</p>
  const text = 'id' in step ? keys.steps[step.name](step.id) : keys.steps[step.name](step.count)
  return (
    <>
      <p>{text}</p>
      <CopyField label={keys.command} value={step.command} />
    </>
  )
}

function KeyState({ state }: { state: SchemaKeyView }) {
  const { keys } = useMessages()
  if (!state.available) return <StatusBadge tone={state.in_use ? 'bad' : 'none'} text={keys.missing} />
  if (!state.usable) return <StatusBadge tone="bad" text={keys.wrong} />
  if (state.active) return <StatusBadge tone="ok" text={keys.active} />
  return <StatusBadge tone={state.in_use ? 'info' : 'none'} text={state.in_use ? keys.inUse : keys.notUsed} />
}
