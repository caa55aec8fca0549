import type { SchemaJobView } from '../../api/schema.d.ts'
import { useFormat, useMessages } from '../../messages/index.tsx'
import styles from './jobs.module.css'
import { computeShare } from './jobStates.ts'

/** How far a job is that runs: a bar where it knows its end, and what it says of it. */
export function JobProgress({ job }: { job: SchemaJobView }) {
  const { jobs } = useMessages()
  const format = useFormat()
  const share = computeShare(job)
  if (job.state !== 'running' || (job.progress === null && job.message === '')) return null
  return (
    <span className={styles.progress}>
      {share !== null && <progress className={styles.bar} aria-label={jobs.columns.progress} max={1} value={share} />}
      {job.progress !== null && (
        <span className={styles.number}>
          {share === null ? jobs.progressSoFar(format.number(job.progress)) : format.percent(share)}
        </span>
      )}
      <span className={styles.message} dir="auto">
        {job.message}
      </span>
    </span>
  )
}
