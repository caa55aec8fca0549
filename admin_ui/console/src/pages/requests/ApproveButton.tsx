import { useQueryClient } from '@tanstack/react-query'
import type { SchemaAccessRequestView } from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { useOnline } from '../../components/States.tsx'
import { useAction } from '../../components/useAction.ts'
import { useMessages } from '../../messages/index.tsx'
import { useApprove } from './approve.ts'
import { fittingRolesQuery } from './queries.ts'

/**
 * Approves from the list where one role alone allows what is asked for. Where there is a choice, something fails, or that
 * role allows every tool, which is far more than was asked for, the panel says what there is.
 */
export function ApproveButton({ request }: { request: SchemaAccessRequestView }) {
  const { requests } = useMessages()
  const queries = useQueryClient()
  const online = useOnline()
  const { open } = useOverlay([])
  const { busy, run } = useAction()
  const approve = useApprove(request)
  const decide = async () => {
    try {
      const { items, next_cursor } = await queries.fetchQuery({ ...fittingRolesQuery(request.id), staleTime: 0 })
      const [role] = items
      if (!role || items.length > 1 || next_cursor || role.allow.includes('*')) open({ id: request.id })
      else await approve(role, false)
    } catch {
      open({ id: request.id })
    }
  }
  return (
    <Button
      kind="quiet"
      isPending={busy}
      isDisabled={!online}
      aria-label={requests.approveOf(request.email)}
      onPress={() => void run(decide)}
    >
      {requests.approve}
    </Button>
  )
}
