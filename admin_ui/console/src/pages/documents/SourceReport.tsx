import { Facts, ItemList, Section } from '../../components/Facts.tsx'
import { ExactTime } from '../../components/Time.tsx'
import { useFormat, useMessages } from '../../messages/index.tsx'
import type { SyncReport } from './sources.ts'

/** What the last run of a source has done, and what it has skipped, with the reasons. */
export function SourceReport({ report }: { report: SyncReport }) {
  const { sources } = useMessages().documents
  const format = useFormat()
  const { counts } = sources
  const hidden = report.skipped_count - report.skipped.length
  return (
    <>
      <Section title={sources.lastRun}>
        <Facts
          facts={[
            [sources.ranAt, <ExactTime key="at" at={report.at} />],
            [counts.added, format.number(report.added)],
            [counts.updated, format.number(report.updated)],
            [counts.unchanged, format.number(report.unchanged)],
            [counts.removed, format.number(report.removed)],
            [counts.skipped, format.number(report.skipped_count)],
          ]}
        />
        {!report.is_complete && <p>{sources.incomplete}</p>}
      </Section>
      {report.skipped.length > 0 && (
        <Section title={sources.skipped}>
          <ItemList
            label={sources.skipped}
            items={report.skipped}
            itemKey={(one) => one.file_path}
            title={(one) => one.file_path}
            detail={(one) => <span lang="en">{one.reason}</span>}
            empty=""
          />
          {hidden > 0 && <p>{sources.skippedMore(hidden)}</p>}
        </Section>
      )}
    </>
  )
}
