import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { CircleCheck, CircleDashed, CircleDot } from 'lucide-react'
import { api, read } from '../../../api/client.ts'
import { meQuery } from '../../../api/queries.ts'
import { Button } from '../../../components/Button.tsx'
import { Actions } from '../../../components/Facts.tsx'
import { PageHead } from '../../../components/ListTools.tsx'
import { ProblemNotice, Skeleton } from '../../../components/States.tsx'
import { useAction } from '../../../components/useAction.ts'
import { useMessages } from '../../../messages/index.tsx'
import { ConnectClient } from '../ConnectClient.tsx'
import type { ClientCall } from '../queries.ts'
import { AccountStep } from './AccountStep.tsx'
import { CallStep } from './CallStep.tsx'
import styles from './guided.module.css'
import { NameStep } from './NameStep.tsx'
import { useKnown } from './queries.ts'
import { ServiceStep } from './ServiceStep.tsx'
import { findDone, findNext, type Known, type Step, STEPS } from './steps.ts'

/** Leads an administrator from the first sign-in to the first call of a client; may be left and gone on with. */
export function GuidedStart({ start }: { start: Step | 'next' }) {
  const { guidedStart } = useMessages()
  const { known, call, error, retry } = useKnown()
  return (
    <>
      <PageHead title={guidedStart.title}>
        <Link to="/">{guidedStart.leave}</Link>
      </PageHead>
      <p className={styles.lead}>{guidedStart.lead}</p>
      {error && <ProblemNotice error={error} onRetry={retry} />}
      {!known && !error && <Skeleton lines={6} />}
      {known && <Steps known={known} call={call} start={start} />}
    </>
  )
}

function Steps({ known, call, start }: { known: Known; call: ClientCall | null; start: Step | 'next' }) {
  const done = findDone(known)
  const step = start === 'next' ? findNext(done) : start
  return (
    <>
      <Progress done={done} current={step} />
      {step === 'name' && <NameStep />}
      {step === 'service' && <ServiceStep known={known} />}
      {step === 'account' && <AccountStep known={known} />}
      {step === 'client' && (
        <div className={styles.client}>
          <ConnectClient />
        </div>
      )}
      {step === 'call' && <CallStep call={call} />}
      {step === null || (step === 'call' && done.has('call')) ? <Finish open={findNext(done)} /> : <GoOn step={step} done={done} />}
    </>
  )
}

function Progress({ done, current }: { done: ReadonlySet<Step>; current: Step | null }) {
  const { guidedStart } = useMessages()
  return (
    <nav aria-label={guidedStart.steps}>
      <ol className={styles.progress}>
        {STEPS.map((step) => {
          const isDone = done.has(step)
          const Icon = isDone ? CircleCheck : step === current ? CircleDot : CircleDashed
          return (
            <li key={step}>
              <Link
                to="/"
                search={{ start: step }}
                className={styles.step}
                data-done={isDone}
                aria-current={step === current ? 'step' : undefined}
                activeOptions={{ exact: true, includeSearch: true }}
              >
                <Icon size={16} aria-hidden />
                <span>{guidedStart.names[step]}</span>
                {isDone && <span className="visually-hidden">{guidedStart.done}</span>}
              </Link>
            </li>
          )
        })}
      </ol>
    </nav>
  )
}

/** On to the step after this one, whether this one is done or not. */
function GoOn({ step, done }: { step: Step; done: ReadonlySet<Step> }) {
  const { guidedStart } = useMessages()
  const navigate = useNavigate({ from: '/' })
  const following = STEPS[STEPS.indexOf(step) + 1]
  if (!following) return null
  return (
    <Actions>
      <Button kind={done.has(step) ? 'primary' : 'plain'} onPress={() => void navigate({ search: { start: following } })}>
        {done.has(step) ? guidedStart.goOn : guidedStart.skip}
      </Button>
    </Actions>
  )
}

/** The end: the console offers the guided start no more. */
function Finish({ open }: { open: Step | null }) {
  const { guidedStart, problems } = useMessages()
  const queries = useQueryClient()
  const navigate = useNavigate({ from: '/' })
  const { busy, problem, run } = useAction()
  const finish = () =>
    run(async () => {
      queries.setQueryData(meQuery.queryKey, await read(api.PATCH('/api/v1/me', { body: { guided_start: false } })))
      await navigate({ search: {} })
    })
  return (
    <section className={styles.card}>
      <h2>{open ? guidedStart.calledTitle : guidedStart.finishedTitle}</h2>
      <p>{open ? guidedStart.stillOpen(guidedStart.names[open]) : guidedStart.finishedText}</p>
      {problem && <ProblemNotice error={problem} title={problems.actionTitle} />}
      <Actions>
        <Button kind="primary" isPending={busy} onPress={() => void finish()}>
          {guidedStart.finish}
        </Button>
        <Link to="/users">{guidedStart.invite}</Link>
      </Actions>
    </section>
  )
}
