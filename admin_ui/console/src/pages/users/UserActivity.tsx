import { Link } from '@tanstack/react-router'
import { fetchAuditPage } from '../../api/audit.ts'
import { Button } from '../../components/Button.tsx'
import { Actions, ItemList, Section } from '../../components/Facts.tsx'
import { LogBadge, nameEntry } from '../../components/LogBadge.tsx'
import { ProblemNotice, Skeleton } from '../../components/States.tsx'
import { usePagedList } from '../../components/usePagedList.ts'
import { useFormat, useMessages } from '../../messages/index.tsx'

/** What a person has done, as the audit log has it. */
export function UserActivity({ userId }: { userId: string }) {
  const { common, users } = useMessages()
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
      {list.isLoading ? (
        <Skeleton lines={6} />
      ) : list.error ? (
        <ProblemNotice error={list.error} onRetry={list.retry} />
      ) : (
        <ItemList
          label={users.tabs.activity}
          items={list.rows}
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
      )}
      {list.hasMore && (
        <Actions>
          <Button onPress={list.loadMore} isPending={list.isLoadingMore}>
            {common.loadMore}
          </Button>
        </Actions>
      )}
    </Section>
  )
}
