import { useQuery } from '@tanstack/react-query'
import { SelectField } from '../../components/Field.tsx'
import { useMessages } from '../../messages/index.tsx'
import { workspacesQuery } from './queries.ts'
import { itemsRoute } from './route.ts'
import { useSetSearch } from './useItemsSearch.ts'
import { isOwn, nameWorkspace } from './workspaces/names.ts'

/** Filters and panels are those of the workspace before. */
const CLEARED = {
  q: undefined,
  type: undefined,
  status: undefined,
  tag: undefined,
  id: undefined,
  center: undefined,
  before: undefined,
  after: undefined,
}

/** Which workspace is shown; nothing where there is one alone. */
export function WorkspaceField() {
  const { items } = useMessages()
  const { workspace } = itemsRoute.useSearch()
  const set = useSetSearch()
  const { data = [] } = useQuery(workspacesQuery)
  const others = data.filter((one) => !isOwn(one))
  if (others.length === 0 && !workspace) return null
  const isKnown = !workspace || others.some((one) => one.name === workspace)
  return (
    <SelectField
      label={items.workspace}
      hideLabel
      value={workspace ?? ''}
      choices={[
        { value: '', label: items.own },
        ...others.map((one) => ({ value: one.name, label: nameWorkspace(items, one) })),
        ...(isKnown ? [] : [{ value: workspace, label: workspace }]),
      ]}
      onChange={(value) => set({ ...CLEARED, workspace: value || undefined })}
    />
  )
}

/** Whether the person may change what is in the workspace that is shown. */
export function useCanWrite(): boolean {
  const { workspace } = itemsRoute.useSearch()
  const { data = [] } = useQuery(workspacesQuery)
  return data.find((one) => (workspace ? one.name === workspace : isOwn(one)))?.can_write ?? !workspace
}
