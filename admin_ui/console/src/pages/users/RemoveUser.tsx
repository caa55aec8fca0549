import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { api, read } from '../../api/client.ts'
import type { SchemaRemovalView, SchemaUserView } from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { Actions, ItemList } from '../../components/Facts.tsx'
import overlay from '../../components/Overlay.module.css'
import { showToast } from '../../components/toasts.tsx'
import { useMessages } from '../../messages/index.tsx'
import { WhatEnds } from './WhatEnds.tsx'

interface RemoveUserProps {
  user: SchemaUserView
  onClose: () => void
  /** Called at the end, when there is nobody left to show. */
  onRemoved: () => void
}

/** Removes a person: says beforehand what ends, and afterwards what could not be ended at a service. */
export function RemoveUser({ user, onClose, onRemoved }: RemoveUserProps) {
  const { users } = useMessages()
  const queries = useQueryClient()
  const [removal, setRemoval] = useState<SchemaRemovalView | null>(null)
  const finish = async () => {
    onRemoved()
    queries.removeQueries({ queryKey: ['users', user.id] })
    await queries.invalidateQueries({ queryKey: ['users', 'list'] })
  }
  const remove = async () => {
    const done = await read(api.DELETE('/api/v1/users/{user_id}', { params: { path: { user_id: user.id } } }))
    showToast(users.removed(user.email))
    if (done.remaining_accounts.length > 0) setRemoval(done)
    else await finish()
  }
  if (removal) return <RemainingAccounts removal={removal} onClose={() => void finish()} />
  return (
    <ConfirmDestroy
      title={users.removeTitle(user.email)}
      confirm={users.remove}
      typed={user.email}
      onConfirm={remove}
      onClose={onClose}
    >
      <p>{users.removeText}</p>
      <WhatEnds userId={user.id} accounts />
    </ConfirmDestroy>
  )
}

interface RemainingAccountsProps {
  removal: SchemaRemovalView
  onClose: () => void
}

/** Accounts that somebody has to close at the service, after a removal. */
export function RemainingAccounts({ removal, onClose }: RemainingAccountsProps) {
  const { common, users } = useMessages()
  const { remaining_accounts: left } = removal
  return (
    <ModalOverlay isOpen onOpenChange={onClose} className={`${overlay.shade} ${overlay.center}`} data-overlay>
      <Modal className={overlay.modal!}>
        <Dialog className={`${overlay.dialog} ${overlay.form}`}>
          <Heading slot="title">{users.leftTitle}</Heading>
          <p>{users.leftText(left.length)}</p>
          <ItemList
            label={users.leftTitle}
            items={left}
            itemKey={(account) => `${account.provider} ${account.account}`}
            title={(account) => account.account || account.provider}
            detail={(account) => account.provider}
            end={(account) =>
              account.manage_url.startsWith('https://') && (
                <a href={account.manage_url} target="_blank" rel="noreferrer">
                  {users.closeAt(account.provider)}
                </a>
              )
            }
            empty=""
          />
          <Actions>
            <Button kind="primary" onPress={onClose} autoFocus>
              {common.close}
            </Button>
          </Actions>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
