import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaRemovalView, SchemaUserView } from '../../api/schema.d.ts'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { RemainingAccounts } from '../../components/RemainingAccounts.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useMessages } from '../../messages/index.tsx'
import { useWhatEnds, WhatEnds } from './WhatEnds.tsx'

interface RemoveUserProps {
  user: SchemaUserView
  onClose: () => void
  /** Called at the end, when there is nobody left to show. */
  onRemoved: () => void
}

/** Removes a person: says beforehand what ends, and afterwards what has ended and what could not be ended at a service. */
export function RemoveUser({ user, onClose, onRemoved }: RemoveUserProps) {
  const { users } = useMessages()
  const queries = useQueryClient()
  const ends = useWhatEnds(user.id, true)
  const [removal, setRemoval] = useState<{ done: SchemaRemovalView; parts: readonly string[] } | null>(null)
  const finish = async () => {
    onRemoved()
    queries.removeQueries({ queryKey: ['users', user.id] })
    await queries.invalidateQueries({ queryKey: ['users', 'list'] })
  }
  const remove = async () => {
    const done = await read(api.DELETE('/api/v1/users/{user_id}', { params: { path: { user_id: user.id } } }))
    showToast(users.removed(user.email))
    const parts = ends.parts ?? []
    if (done.remaining_accounts.length > 0 || parts.length > 0) setRemoval({ done, parts })
    else await finish()
  }
  if (removal) {
    const ended = { title: users.endedWith(user.email), parts: removal.parts }
    return <RemainingAccounts removal={removal.done} ended={ended} onClose={() => void finish()} />
  }
  return (
    <ConfirmDestroy
      title={users.removeTitle(user.email)}
      confirm={users.remove}
      typed={user.email}
      onConfirm={remove}
      onClose={onClose}
    >
      <p>{users.removeText}</p>
      <WhatEnds {...ends} />
    </ConfirmDestroy>
  )
}
