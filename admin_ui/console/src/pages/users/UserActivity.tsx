import { Link } from '@tanstack/react-router'
import { fetchAuditPage } from '../../api/audit.ts'
import { Section } from '../../components/Facts.tsx'
import { LogBadge, nameEntry } from '../../components/LogBadge.tsx'
import { PagedItems } from '../../components/PagedItems.tsx'
import { usePagedList } from '../../components/usePagedList.ts'
import { useFormat, useMessages } from '../../messages/index.tsx'

/** What a person has done, as the audit log has it. */
export function UserActivity({ userId }: { userId: string }) {
  const { users } = useMessages()
  const format = useFormat()
  const list = usePagedList(['audit', 'user', userId], (cursor) =>
    fetchAuditPage({ user: userId, limit: 50, ...(cursor && { cursor }) }),
  )
  return (
    <Section title={users.tabs.activity} help={users.activityHelp}>
      <p>
        <Link to="/logs" search={{ user: userId }}>
          {users.openLog}
        </Link>
      </p>
      <PagedItems
        label={users.tabs.activity}
        list={list}
        itemKey={(entry) => String(entry.seq)}
        title={(entry) => (
          <Link to="/logs" search={{ user: userId, id: String(entry.seq), at: entry.occurred_at }}>
            {nameEntry(entry)}
          </Link>
        )}
        detail={(entry) => (
          <>
            <time dateTime={entry.occurred_at} title={format.exact(entry.occurred_at)}>
              {format.logTime(entry.occurred_at)}
            </time>
            {entry.client && ` · ${entry.client}`}
          </>
        )}
        end={(entry) => <LogBadge entry={entry} />}
        empty={users.noActivity}
      />
    </Section>
  )
}
