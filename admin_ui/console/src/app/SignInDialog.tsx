import { useEffect, useSyncExternalStore } from 'react'
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { buildSignInUrl, getSignInNeed, giveUpSignIn, lookForSignIn, subscribeToSession } from '../api/session.ts'
import { Button } from '../components/Button.tsx'
import overlay from '../components/Overlay.module.css'
import { useMessages } from '../messages/index.tsx'

/** Asks for a sign-in where the session has ended or is too old; the page and what was typed stay. */
export function SignInDialog() {
  const { common, problems } = useMessages()
  const need = useSyncExternalStore(subscribeToSession, getSignInNeed)
  useEffect(() => {
    if (need === null) return
    // The other tab may not be able to tell: it was closed too early, a link has led it elsewhere, or the browser keeps its
    // pages apart.
    const look = () => void lookForSignIn()
    window.addEventListener('focus', look)
    return () => window.removeEventListener('focus', look)
  }, [need])
  if (need === null) return null
  const recent = need === 'recent'
  const url = buildSignInUrl('/console/signed-in', recent ? 'recent' : undefined)
  return (
    <ModalOverlay isOpen onOpenChange={giveUpSignIn} className={`${overlay.shade} ${overlay.center}`} data-overlay>
      <Modal className={overlay.modal!}>
        <Dialog role="alertdialog" className={`${overlay.dialog} ${overlay.form}`}>
          <div className={overlay.head}>
            <Heading slot="title">{recent ? problems.recentTitle : problems.expiredTitle}</Heading>
          </div>
          <p>{recent ? problems.recent : problems.expired}</p>
          <div className={overlay.actions}>
            <Button onPress={giveUpSignIn}>{common.cancel}</Button>
            <Button kind="primary" autoFocus onPress={() => void window.open(url, '_blank', 'noopener')}>
              {problems.signIn}
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
