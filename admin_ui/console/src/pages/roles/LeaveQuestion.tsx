import { useBlocker } from '@tanstack/react-router'
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { Button } from '../../components/Button.tsx'
import overlay from '../../components/Overlay.module.css'
import { useMessages } from '../../messages/index.tsx'

interface LeaveQuestionProps {
  roleId: string
  count: number
  onDiscard: () => void
}

/** Asks before edits are lost: by another page, another panel, another tab, or a reload. */
export function LeaveQuestion({ roleId, count, onDiscard }: LeaveQuestionProps) {
  const { common, roles } = useMessages()
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ next }) => {
      const to = next.search as { id?: string; tab?: string }
      return count > 0 && !(next.pathname === '/roles' && to.id === roleId && to.tab === 'permissions')
    },
    enableBeforeUnload: count > 0,
    withResolver: true,
  })
  if (status !== 'blocked') return null
  return (
    <ModalOverlay isOpen onOpenChange={reset} className={`${overlay.shade} ${overlay.center}`} data-overlay>
      <Modal className={overlay.modal!}>
        <Dialog role="alertdialog" className={`${overlay.dialog} ${overlay.form}`}>
          <Heading slot="title">{roles.matrix.leaveTitle}</Heading>
          <p>{roles.matrix.leave(count)}</p>
          <div className={overlay.actions}>
            <Button autoFocus onPress={reset}>
              {roles.matrix.stay}
            </Button>
            <Button
              kind="danger"
              onPress={() => {
                onDiscard()
                proceed()
              }}
            >
              {common.discard}
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
