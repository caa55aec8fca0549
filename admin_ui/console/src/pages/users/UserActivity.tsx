import { Link } from '@tanstack/react-router'
import { fetchAuditPage } from '../../api/audit.ts'
import { Section } from '../../components/Facts.tsx'
import { LogBadge, nameEntry } from '../../components/LogBadge.tsx'
import { PagedItems } from '../../components/PagedItems.tsx'
import { SearchLine } from '../../components/SearchLine.tsx'
import { usePagedList } from '../../components/usePagedList.ts'
import { useSearchOn } from '../../components/useSearchOn.ts'
import { useFormat, useMessages } from '../../messages/index.tsx'

const PAGE = 50

/** What a person has done, as the audit log has it. */
export function UserActivity({ userId }: { userId: string }) {
  const { logs, users } = useMessages()
  const format = useFormat()
  const list = usePagedList(['audit', 'user', userId], (cursor) =>
    fetchAuditPage({ user: userId, limit: PAGE, ...(cursor && { cursor }) }),
  )
  const search = useSearchOn(list, userId, PAGE)
  return (
    <Section title={users.tabs.activity} help={users.activityHelp}>
      <p>
        <Link to="/logs" search={{ user: userId }}>
          {users.openLog}
        </Link>
      </p>
      <PagedItems
        label={users.tabs.activity}
        list={list.searchedBackTo ? { ...list, hasMore: false } : list}
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
        empty={search.isSearching ? '' : users.noActivity}
      />
      {list.searchedBackTo && (
        <SearchLine
          search={search}
          isPending={list.isLoadingMore}
          time={format.exact(list.searchedBackTo)}
          texts={logs.searches.back}
        />
      )}
    </Section>
  )
}
