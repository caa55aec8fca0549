import { useQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { useShortcut } from '../../app/shortcuts.tsx'
import { isWithoutTools } from '../../api/tools.ts'
import { Button } from '../../components/Button.tsx'
import { PageHead } from '../../components/ListTools.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { Empty, ProblemNotice, Skeleton } from '../../components/States.tsx'
import { ViewLinks } from '../../components/ViewLinks.tsx'
import { useMessages } from '../../messages/index.tsx'
import { GraphView } from './graph/GraphView.tsx'
import { CreateItem } from './ItemForm.tsx'
import { ItemsTable } from './ItemsTable.tsx'
import { ItemPanel } from './ItemPanel.tsx'
import { workspacesQuery } from './queries.ts'
import { itemsRoute, VIEWS } from './route.ts'
import { CurrentState } from './state/CurrentState.tsx'
import { CreateWorkspace } from './workspaces/WorkspaceForms.tsx'
import { WorkspaceList } from './workspaces/WorkspaceList.tsx'

const DIALOG = ['dialog'] as const
const KEPT = ['workspace'] as const

/** Items that the person may read: as a list, as a picture of their relations, and the state of the whole. */
export function ItemsPage() {
  const { items } = useMessages()
  const { view = 'list', workspace, id, dialog } = itemsRoute.useSearch()
  const { open, close } = useOverlay(DIALOG)
  const workspaces = useQuery(workspacesQuery)
  const isHidden = isWithoutTools(workspaces.error)
  const create = () => open({ dialog: 'create' })
  const begins = view === 'workspaces' ? items.workspaces.create : items.create
  useShortcut('n', begins, () => !isHidden && create())
  if (isHidden) {
    return (
      <>
        <PageHead title={items.title} />
        <Empty title={items.noToolsTitle} text={items.noToolsText} />
      </>
    )
  }
  return (
    <>
      <PageHead title={items.title}>
        <Button kind="primary" icon={Plus} onPress={create}>
          {begins}
        </Button>
      </PageHead>
      <ViewLinks
        label={items.views}
        selected={view}
        views={VIEWS.map((one) => ({ view: one, label: items.viewNames[one] }))}
        kept={KEPT}
      />
      {workspaces.error ? (
        <ProblemNotice error={workspaces.error} onRetry={() => void workspaces.refetch()} />
      ) : !workspaces.data ? (
        <Skeleton lines={8} />
      ) : view === 'list' ? (
        <ItemsTable />
      ) : view === 'graph' ? (
        <GraphView key={workspace} />
      ) : view === 'workspaces' ? (
        <WorkspaceList workspaces={workspaces.data} />
      ) : (
        <CurrentState key={workspace} />
      )}
      {dialog === 'create' && view === 'workspaces' && <CreateWorkspace known={workspaces.data ?? []} onClose={close} />}
      {dialog === 'create' && view !== 'workspaces' && <CreateItem workspace={workspace} onClose={close} />}
      {id && <ItemPanel key={id} itemKey={id} />}
    </>
  )
}
