import type { ReactNode } from 'react'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { Button } from './Button.tsx'
import { ConflictNotice } from './ConflictNotice.tsx'
import { Actions, ItemList } from './Facts.tsx'
import { Checkbox } from './Field.tsx'
import { ProblemNotice, useOnline } from './States.tsx'
import { StatusBadge, type Tone } from './StatusBadge.tsx'
import { Localized } from './Localized.tsx'
import styles from './TrialForm.module.css'
import { useAction } from './useAction.ts'
import type { VersionedForm } from './useVersionedForm.ts'
import { type Messages, useMessages } from '../messages/index.tsx'

export interface Trial {
  passed: boolean
  checks: readonly { check: keyof Messages['trials']['checks']; outcome: 'ok' | 'failed' | 'unknown'; message: string; message_ja: string }[]
}

interface TrialFormProps<Values> {
  label: string
  form: VersionedForm<Values>
  /** There is something to save beside the form's own values, as a secret. */
  hasMore?: boolean
  /** Try what stands in the fields; nothing is stored. */
  onTry: () => Promise<Trial>
  /** Whether it is to be saved although a check fails. */
  despite: boolean
  onDespite: (despite: boolean) => void
  /** Name of a field for people, where somebody else has changed it. */
  fieldLabel: (name: keyof Values & string) => string
  showValue?: (name: keyof Values & string, value: unknown) => string
  children: ReactNode
}

const TONES: Record<Trial['checks'][number]['outcome'], Tone> = { ok: 'ok', failed: 'bad', unknown: 'warn' }

/** A form whose values are tried before they are saved, by hand or by saving. */
export function TrialForm<Values>(props: TrialFormProps<Values>) {
  const { label, form, hasMore = false, onTry, despite, onDespite, fieldLabel, showValue, children } = props
  const { common, problems, trials } = useMessages()
  const online = useOnline()
  const attempt = useAction()
  const [trial, setTrial] = useState<Trial | null>(null)
  // Of the two buttons, what the last one has met.
  const [hasTried, setTried] = useState(false)
  const problem = hasTried ? attempt.problem : form.problem
  const isRefused = problem !== null && Object.keys(problem.fields).length === 0
  const tryIt = () => {
    setTried(true)
    setTrial(null)
    return attempt.run(async () => {
      setTrial(await onTry())
    })
  }
  return (
    <Form
      aria-label={label}
      className={styles.form!}
      onSubmit={(event) => {
        event.preventDefault()
        setTried(false)
        setTrial(null)
        void form.save()
      }}
      {...(problem && { validationErrors: problem.fields })}
    >
      {children}
      <div role="status">
        {attempt.busy && <p>{trials.trying}</p>}
        {trial && <TrialResult trial={trial} />}
      </div>
      {isRefused && <ProblemNotice error={problem} title={problems.actionTitle} />}
      <ConflictNotice form={form} label={fieldLabel} {...(showValue && { show: showValue })} />
      {(isRefused || despite || trial?.passed === false) && (
        <Checkbox isSelected={despite} onChange={onDespite}>
          {trials.despite}
        </Checkbox>
      )}
      {!form.conflict && (
        <Actions>
          <Button onPress={() => void tryIt()} isPending={attempt.busy} isDisabled={!online}>
            {trials.try}
          </Button>
          <Button kind="primary" type="submit" isDisabled={!(form.isChanged || hasMore) || !online} isPending={form.busy}>
            {common.save}
          </Button>
        </Actions>
      )}
    </Form>
  )
}

function TrialResult({ trial }: { trial: Trial }) {
  const { trials } = useMessages()
  return (
    <div className={styles.result}>
      <p>{trial.passed ? trials.passed : trials.failed}</p>
      <ItemList
        label={trials.result}
        items={trial.checks}
        itemKey={({ check }) => check}
        title={({ check }) => trials.checks[check]}
        detail={({ message, message_ja }) => <Localized text={{ en: message, ja: message_ja }} />}
        end={({ outcome }) => <StatusBadge tone={TONES[outcome]} text={trials.outcomes[outcome]} />}
        empty=""
      />
    </div>
  )
}
