import { useQueryClient } from '@tanstack/react-query'
import { CloudOff, RotateCw } from 'lucide-react'
import { type ReactNode, useSyncExternalStore } from 'react'
import { type Problem, toProblem } from '../api/problems.ts'
import { useLiveState } from '../app/live.ts'
import { useLanguage, useMessages } from '../messages/index.tsx'
import { Button } from './Button.tsx'
import { CopyButton } from './CopyField.tsx'
import styles from './States.module.css'

interface NoticeProps {
  title: string
  text?: string
  /** A button or a link. */
  children?: ReactNode
}

/** In the place of a page: what happened, and where to go. */
export function Notice({ title, text, children }: NoticeProps) {
  return (
    <section className={styles.notice}>
      <h1 tabIndex={-1}>{title}</h1>
      {text && <p className={styles.text}>{text}</p>}
      {children}
    </section>
  )
}

/** In the place of a list without items: what this is, and what begins it. */
export function Empty({ title, text, children }: NoticeProps) {
  return (
    <div className={styles.empty}>
      <h2>{title}</h2>
      {text && <p className={styles.text}>{text}</p>}
      {children}
    </div>
  )
}

/** In the place of a list in which nothing matches what was searched; by words, or else by filters. */
export function NothingMatches({ words, onClear }: { words?: string | undefined; onClear: () => void }) {
  const { common } = useMessages()
  return (
    <Empty title={words ? common.nothingMatches(words) : common.nothingMatchesFilters}>
      <Button onPress={onClear}>{common.clearAll}</Button>
    </Empty>
  )
}

/** Text of a problem in the language of the interface; the API's own, which is English, where we have none. */
export function useProblemText(): (problem: Problem) => { text: string; foreign: boolean } {
  const { language, messages } = useLanguage()
  return (problem) => {
    const own = problem.describe(messages)
    if (own) return { text: own.text, foreign: false }
    const known = messages.problems.codes[problem.code]
    if (known) return { text: known, foreign: false }
    if (problem.detail) return { text: problem.detail, foreign: language !== 'en' }
    return { text: messages.problems.unknown, foreign: false }
  }
}

interface ProblemNoticeProps {
  error: unknown
  /** What failed; `This could not be loaded` without it. */
  title?: string
  onRetry?: () => void
}

/** An error in the place of what could not be shown or done. */
export function ProblemNotice({ error, title, onRetry }: ProblemNoticeProps) {
  const { common, problems } = useMessages()
  const problem = toProblem(error)
  const { text, foreign } = useProblemText()(problem)
  const crashed = problem.code === 'crashed' && problem.detail
  return (
    <div role="alert" className={styles.problem}>
      <p className={styles.problemTitle}>{title ?? problems.title}</p>
      <p lang={foreign ? 'en' : undefined}>{text}</p>
      {crashed && <pre className={styles.detail}>{problem.detail}</pre>}
      <div className={styles.actions}>
        {onRetry && (
          <Button icon={RotateCw} onPress={onRetry}>
            {common.tryAgain}
          </Button>
        )}
        {problem.requestId && (
          <span className={styles.request}>
            {problems.requestId} <code>{problem.requestId}</code>
            <CopyButton value={problem.requestId} label={common.copyLabel(problems.requestId)} />
          </span>
        )}
      </div>
    </div>
  )
}

/** Bars of the final height; drawn late by CSS, so that what comes at once never flickers. */
export function Skeleton({ lines = 3 }: { lines?: number }) {
  const { common } = useMessages()
  return (
    <div role="status" aria-label={common.loading} className={styles.skeleton}>
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} />
      ))}
    </div>
  )
}

export function PageSkeleton() {
  return <Skeleton lines={8} />
}

export function useOnline(): boolean {
  return useSyncExternalStore(subscribeToNetwork, () => navigator.onLine)
}

function subscribeToNetwork(listener: () => void): () => void {
  window.addEventListener('online', listener)
  window.addEventListener('offline', listener)
  return () => {
    window.removeEventListener('online', listener)
    window.removeEventListener('offline', listener)
  }
}

/** One bar on every page while the browser has no network, or MCPist tells nothing of changes. */
export function OfflineBar() {
  const { problems, common } = useMessages()
  const queries = useQueryClient()
  const online = useOnline()
  const live = useLiveState()
  if (online && live !== 'interrupted') return null
  return (
    // Open dialogs make everything else inert, but not what has the last attribute.
    <div role="status" className={styles.offline} data-network-bar data-react-aria-top-layer="true">
      <CloudOff size={16} aria-hidden />
      <span>{online ? problems.interrupted : problems.offline}</span>
      <Button kind="quiet" onPress={() => void queries.invalidateQueries()}>
        {common.tryAgain}
      </Button>
    </div>
  )
}
