import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import type { SchemaRemovalView } from '../api/schema.d.ts'
import { useMessages } from '../messages/index.tsx'
import { Button } from './Button.tsx'
import { BulletList, ItemList } from './Facts.tsx'
import overlay from './Overlay.module.css'

interface RemainingAccountsProps {
  removal: SchemaRemovalView
  /** What has ended, where that is told too: its title and its parts. */
  ended?: { title: string; parts: readonly string[] } | undefined
  onClose: () => void
}

/** What has ended by a removal, and the accounts that somebody has to close at the service. */
export function RemainingAccounts({ removal, ended, onClose }: RemainingAccountsProps) {
  const { common, users } = useMessages()
  const { remaining_accounts: left } = removal
  return (
    <ModalOverlay isOpen onOpenChange={onClose} className={`${overlay.shade} ${overlay.center}`} data-overlay>
      <Modal className={overlay.modal!}>
        <Dialog className={`${overlay.dialog} ${overlay.form}`}>
          <Heading slot="title">{ended?.title ?? users.leftTitle}</Heading>
          {ended && <BulletList items={ended.parts} />}
          {ended && left.length > 0 && <h3>{users.leftTitle}</h3>}
          {left.length > 0 && <p>{users.leftText(left.length)}</p>}
          {left.length > 0 && (
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
          )}
          <div className={overlay.actions}>
            <Button kind="primary" onPress={onClose} autoFocus>
              {common.close}
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
