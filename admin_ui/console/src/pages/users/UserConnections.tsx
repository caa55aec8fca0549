import { api, read } from '../../api/client.ts'
import { AccountBadge } from '../../components/AccountBadge.tsx'
import { PagedItems } from '../../components/PagedItems.tsx'
import { usePagedList } from '../../components/usePagedList.ts'
import { useServiceTitles } from '../../components/useServiceTitles.ts'
import { useMessages } from '../../messages/index.tsx'
import { SHOWN } from './queries.ts'

/** How a person's accounts at services stand; never a secret. */
export function UserConnections({ userId }: { userId: string }) {
  const { users } = useMessages()
  const nameService = useServiceTitles()
  const list = usePagedList(['users', userId, 'connections', 'list'], (cursor) => {
    const query = { user: userId, limit: SHOWN, ...(cursor && { cursor }) }
    return read(api.GET('/api/v1/connections', { params: { query } }))
  })
  return (
    <PagedItems
      label={users.tabs.connections}
      list={list}
      itemKey={(one) => `${one.credential_id ?? ''} ${one.module} ${one.kind}`}
      title={(one) => [nameService(one.module), one.account].filter(Boolean).join(' · ')}
      detail={(one) => [one.kind === 'shared' ? users.sharedAccount(one.owner) : users.ownAccount, one.message].filter(Boolean).join(' · ')}
      end={(one) => <AccountBadge module={one.module} state={one.state} />}
      empty={users.noConnections}
    />
  )
}
