import { useQuery } from '@tanstack/react-query'
import { api, read } from '../../api/client.ts'
import { DetailPanel, PanelTabs } from '../../components/DetailPanel.tsx'
import { ModelView } from '../../components/ModelView.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { ProblemNotice, Skeleton } from '../../components/States.tsx'
import { useMessages } from '../../messages/index.tsx'
import { userQuery } from './queries.ts'
import { RemoveUser } from './RemoveUser.tsx'
import type { UsersSearch, UserTab } from './route.ts'
import { SuspendUser } from './SuspendUser.tsx'
import { UserAccess } from './UserAccess.tsx'
import { UserActivity } from './UserActivity.tsx'
import { UserConnections } from './UserConnections.tsx'
import { UserGeneral } from './UserGeneral.tsx'
import { UserRoles } from './UserRoles.tsx'

const OF_PANEL = ['id', 'tab', 'dialog'] as const
const OF_DIALOG = ['dialog'] as const

interface UserPanelProps {
  id: string
  tab: UserTab
  dialog: UsersSearch['dialog']
}

/** One person. */
export function UserPanel({ id, tab, dialog }: UserPanelProps) {
  const { modelView, users } = useMessages()
  const { data: user, error, refetch } = useQuery(userQuery(id))
  const { close, clear, replace } = useOverlay(OF_PANEL)
  const { open, close: closeDialog } = useOverlay(OF_DIALOG)
  if (!user)
    return (
      <DetailPanel title={users.title} onClose={close} padded>
        {error ? <ProblemNotice error={error} onRetry={() => void refetch()} /> : <Skeleton lines={6} />}
      </DetailPanel>
    )
  return (
    <>
      <DetailPanel title={user.name || user.email} subtitle={user.name ? user.email : undefined} onClose={close}>
        <PanelTabs
          label={user.email}
          selected={tab}
          onSelect={(next) => replace({ tab: next })}
          tabs={[
            { key: 'general', label: users.tabs.general, content: () => <UserGeneral user={user} onDialog={(name) => open({ dialog: name })} /> },
            { key: 'roles', label: users.tabs.roles, content: () => <UserRoles user={user} /> },
            { key: 'connections', label: users.tabs.connections, content: () => <UserConnections userId={id} /> },
            { key: 'access', label: users.tabs.access, content: () => <UserAccess userId={id} /> },
            { key: 'activity', label: users.tabs.activity, content: () => <UserActivity userId={id} /> },
            {
              key: 'see-as',
              label: modelView.tab,
              content: () => (
                <ModelView
                  queryKey={['users', id, 'model-view']}
                  load={() => read(api.GET('/api/v1/users/{user_id}/model-view', { params: { path: { user_id: id } } }))}
                />
              ),
            },
          ]}
        />
      </DetailPanel>
      {dialog === 'suspend' && <SuspendUser user={user} onClose={closeDialog} />}
      {dialog === 'remove' && <RemoveUser user={user} onClose={closeDialog} onRemoved={clear} />}
    </>
  )
}
