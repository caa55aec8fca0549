import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { ProblemNotice, Skeleton } from '../../../components/States.tsx'
import { useMessages } from '../../../messages/index.tsx'
import { revisionQuery, type StateRevision } from '../queries.ts'
import { itemsRoute } from '../route.ts'
import { compareLines, foldLines, type Line } from './diff.ts'
import styles from './state.module.css'

const SIGNS = { same: ' ', added: '+', taken: '−' } as const

/** What differs between two revisions of a state, line by line. */
export function CompareStates({ older, newer }: { older: number; newer: number }) {
  const { workspace } = itemsRoute.useSearch()
  const left = useQuery(revisionQuery(workspace, older))
  const right = useQuery(revisionQuery(workspace, newer))
  const error = left.error ?? right.error
  if (error) return <ProblemNotice error={error} onRetry={() => void Promise.all([left.refetch(), right.refetch()])} />
  if (!left.data || !right.data) return <Skeleton lines={6} />
  return <Differences older={left.data} newer={right.data} />
}

function Differences({ older, newer }: { older: StateRevision; newer: StateRevision }) {
  const { state } = useMessages().items
  const lines = useMemo(() => compareLines(older.content, newer.content), [older, newer])
  const title = state.changesTitle(older.revision, newer.revision)
  if (lines === null) {
    return (
      <>
        <p>{state.tooDifferent}</p>
        {[older, newer].map((one) => (
          <pre key={one.revision} className={styles.text} dir="auto" tabIndex={0} role="region" aria-label={state.revision(one.revision)}>
            {one.content}
          </pre>
        ))}
      </>
    )
  }
  const count = (kind: Line['kind']) => lines.filter((line) => line.kind === kind).length
  if (count('same') === lines.length) return <p>{state.same}</p>
  return (
    <>
      <p className={styles.counts}>{state.counts(count('added'), count('taken'))}</p>
      <div className={styles.text} tabIndex={0} role="region" aria-label={title}>
        {foldLines(lines).map((hunk, place) => (
          <div key={place}>
            {hunk.skipped > 0 && <p className={styles.skipped}>{state.unchanged(hunk.skipped)}</p>}
            {hunk.lines.map((line, row) => (
              <DiffLine key={row} line={line} />
            ))}
          </div>
        ))}
      </div>
    </>
  )
}

function DiffLine({ line: { kind, text } }: { line: Line }) {
  const { state } = useMessages().items
  const Text = kind === 'added' ? 'ins' : kind === 'taken' ? 'del' : 'span'
  return (
    <p className={styles.line} data-kind={kind}>
      <span aria-hidden className={styles.sign}>
        {SIGNS[kind]}
      </span>
      {kind !== 'same' && <span className="visually-hidden">{kind === 'added' ? state.added : state.taken}</span>}
      <Text dir="auto">{text}</Text>
    </p>
  )
}
