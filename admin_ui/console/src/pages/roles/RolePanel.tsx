import { useQuery } from '@tanstack/react-query'
import { api, read } from '../../api/client.ts'
import { DetailPanel, PanelTabs } from '../../components/DetailPanel.tsx'
import { ModelView } from '../../components/ModelView.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { ProblemNotice, Skeleton } from '../../components/States.tsx'
import { useMessages } from '../../messages/index.tsx'
import { PermissionEditor } from './PermissionEditor.tsx'
import { roleQuery } from './queries.ts'
import { RemoveRole } from './RemoveRole.tsx'
import { RoleAccounts } from './RoleAccounts.tsx'
import { RoleForm } from './RoleForm.tsx'
import { RoleGeneral } from './RoleGeneral.tsx'
import { RoleMembers } from './RoleMembers.tsx'
import type { RolesSearch } from './route.ts'

const OF_PANEL = ['id', 'tab', 'service', 'find', 'dialog'] as const
const OF_DIALOG = ['dialog'] as const

/** One role. */
export function RolePanel({ id, search }: { id: string; search: RolesSearch }) {
  const { modelView, roles } = useMessages()
  const { data: role, error, refetch } = useQuery(roleQuery(id))
  const { close, clear, replace } = useOverlay(OF_PANEL)
  const { open, close: closeDialog } = useOverlay(OF_DIALOG)
  if (!role)
    return (
      <DetailPanel title={roles.title} onClose={close} padded>
        {error ? <ProblemNotice error={error} onRetry={() => void refetch()} /> : <Skeleton lines={6} />}
      </DetailPanel>
    )
  return (
    <>
      <DetailPanel title={role.name} onClose={close} wide>
        <PanelTabs
          label={role.name}
          selected={search.tab ?? 'general'}
          onSelect={(tab) => replace({ tab, service: undefined, find: undefined })}
          tabs={[
            { key: 'general', label: roles.tabs.general, content: () => <RoleGeneral role={role} onDialog={(name) => open({ dialog: name })} /> },
            { key: 'permissions', label: roles.tabs.permissions, content: () => <PermissionEditor role={role} search={search} /> },
            { key: 'members', label: roles.tabs.members, content: () => <RoleMembers role={role} /> },
            { key: 'accounts', label: roles.tabs.accounts, content: () => <RoleAccounts role={role} search={search} /> },
            {
              key: 'see-as',
              label: modelView.tab,
              content: () => (
                <ModelView
                  queryKey={['roles', id, 'model-view']}
                  load={() => read(api.GET('/api/v1/roles/{role_id}/model-view', { params: { path: { role_id: id } } }))}
                />
              ),
            },
          ]}
        />
      </DetailPanel>
      {search.dialog === 'copy' && <RoleForm source={role} onClose={closeDialog} />}
      {search.dialog === 'remove' && <RemoveRole role={role} onClose={closeDialog} onRemoved={clear} />}
    </>
  )
}
