import { useQueryClient } from '@tanstack/react-query'
import type { SchemaUserView } from '../../api/schema.d.ts'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useMessages } from '../../messages/index.tsx'
import { changeUser } from './queries.ts'
import { useWhatEnds, WhatEnds } from './WhatEnds.tsx'

interface SuspendUserProps {
  user: SchemaUserView
  onClose: () => void
}

/** Asks before a person loses access for a while; undone by a second request. */
export function SuspendUser({ user, onClose }: SuspendUserProps) {
  const { users } = useMessages()
  const queries = useQueryClient()
  const ends = useWhatEnds(user.id, false)
  const suspend = async () => {
    await changeUser(queries, user.id, { status: 'suspended' })
    onClose()
    showToast(users.saved(user.email), () => changeUser(queries, user.id, { status: 'active' }))
  }
  return (
    <ConfirmDestroy title={users.suspendTitle(user.email)} confirm={users.suspend} typed={null} onConfirm={suspend} onClose={onClose}>
      <p>{users.suspendText}</p>
      <WhatEnds {...ends} />
    </ConfirmDestroy>
  )
}
