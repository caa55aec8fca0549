import { useQuery } from '@tanstack/react-query'
import { Play } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { Button } from '../../../components/Button.tsx'
import { CodeBlock } from '../../../components/CodeBlock.tsx'
import { ConfirmDestroy } from '../../../components/ConfirmDestroy.tsx'
import { Actions, Section } from '../../../components/Facts.tsx'
import { SelectField } from '../../../components/Field.tsx'
import { ProblemNotice, useOnline } from '../../../components/States.tsx'
import { StatusBadge } from '../../../components/StatusBadge.tsx'
import { useAction } from '../../../components/useAction.ts'
import { useFormat, useMessages } from '../../../messages/index.tsx'
import { estimateTokens } from '../../../schema/estimate.ts'
import { mcpUrlQuery } from '../../start/queries.ts'
import { type CodeLanguage, LANGUAGES, writeCode } from './code.ts'
import { callTool, type ToolAnswer, type ToolCall } from '../../../api/mcp.ts'
import styles from './playground.module.css'

/** As much of a result as is shown; the rest would only slow the page. */
const MOST_SHOWN = 200_000

interface ExchangeProps {
  call: ToolCall
  /** The tool to ask about first. */
  destroys: string | undefined
  /** Whether the arguments may be sent; says what is wrong where they may not. */
  check: () => boolean
}

/** One request of a model with its answer: sent as oneself, measured, and written as code. */
export function Exchange({ call, destroys, check }: ExchangeProps) {
  const { playground, problems } = useMessages()
  const online = useOnline()
  const [answer, setAnswer] = useState<ToolAnswer | null>(null)
  const [asks, setAsks] = useState(false)
  const { busy, problem, run } = useAction()
  const sending = useRef<AbortController | null>(null)
  useEffect(() => () => sending.current?.abort(), [])
  const send = async () => {
    sending.current?.abort()
    sending.current = new AbortController()
    setAnswer(null)
    setAnswer(await callTool(call, sending.current.signal))
  }
  const start = () => {
    if (!check()) return
    if (destroys) setAsks(true)
    else void run(send)
  }
  return (
    <>
      <Actions>
        <Button kind="primary" icon={Play} isPending={busy} isDisabled={!online} onPress={start}>
          {playground.run}
        </Button>
        <span className={styles.muted}>{playground.asYou}</span>
      </Actions>
      {problem && <ProblemNotice error={problem} title={problems.actionTitle} />}
      {answer && <Answer answer={answer} />}
      <Section title={playground.sends}>
        <CodeBlock code={JSON.stringify(call, null, 2)} label={playground.sends} />
      </Section>
      <SameCall call={call} />
      {asks && destroys && (
        <ConfirmDestroy
          title={playground.destroyTitle(destroys)}
          confirm={playground.run}
          typed={destroys}
          onConfirm={async () => {
            setAsks(false)
            await run(send)
          }}
          onClose={() => setAsks(false)}
        >
          <p>{playground.destroyText}</p>
        </ConfirmDestroy>
      )}
    </>
  )
}

function Answer({ answer }: { answer: ToolAnswer }) {
  const { playground } = useMessages()
  const format = useFormat()
  const structured = answer.structured === undefined ? '' : JSON.stringify(answer.structured, null, 2)
  const shown = structured || answer.text
  return (
    <Section title={playground.result}>
      <p role="status" className={styles.line}>
        <StatusBadge tone={answer.isError ? 'bad' : 'ok'} text={answer.isError ? playground.failed : playground.done} />
        <span>{playground.milliseconds(format.number(answer.milliseconds))}</span>
        <span>{playground.tokens(format.number(estimateTokens(answer.text)))}</span>
      </p>
      <CodeBlock code={shown.slice(0, MOST_SHOWN)} label={playground.result} />
      {shown.length > MOST_SHOWN && <p className={styles.muted}>{playground.cut}</p>}
      {structured && answer.text !== '' && (
        <details className={styles.details}>
          <summary>{playground.text}</summary>
          <CodeBlock code={answer.text.slice(0, MOST_SHOWN)} label={playground.text} />
        </details>
      )}
    </Section>
  )
}

function SameCall({ call }: { call: ToolCall }) {
  const { playground } = useMessages()
  const { data: url } = useQuery(mcpUrlQuery)
  const [language, setLanguage] = useState<CodeLanguage>('curl')
  if (!url) return null
  return (
    <Section title={playground.code} help={playground.codeHelp}>
      <SelectField
        label={playground.language}
        hideLabel
        value={language}
        onChange={setLanguage}
        choices={LANGUAGES.map((value) => ({ value, label: value }))}
      />
      <CodeBlock code={writeCode(language, call, url)} label={language} />
    </Section>
  )
}
