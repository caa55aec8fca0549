import { type ReactNode, useState } from 'react'
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { type Problem, toProblem } from '../api/problems.ts'
import { useMessages } from '../messages/index.tsx'
import { Button } from './Button.tsx'
import { Field } from './Field.tsx'
import styles from './Overlay.module.css'
import { ProblemNotice, useOnline } from './States.tsx'

interface ConfirmDestroyProps {
  /** Names and counts: `Remove role "Sales"? 12 people lose 34 tools.` */
  title: string
  /** What ends with it. */
  children: ReactNode
  confirm: string
  /** A name to type for what cannot be undone; null where a toast offers to undo it, or signing in again does (decision 92). */
  typed: string | null
  onConfirm: () => Promise<void>
  onClose: () => void
}

/** As much as anybody types by hand, and of it what they can see: no blanks at its ends or in a row, no marks of direction. */
const TYPEABLE = /^[^\s\p{C}]+( [^\s\p{C}]+)*$/u
const MOST_TYPED = 60

/** The question before something is destroyed. It is open as long as it is mounted. */
export function ConfirmDestroy({ title, children, confirm, typed, onConfirm, onClose }: ConfirmDestroyProps) {
  const { common, problems } = useMessages()
  const online = useOnline()
  const [text, setText] = useState('')
  // Clients and accounts are named by anybody: a name that cannot be typed would keep it for ever.
  const word = typed === null || (typed.length <= MOST_TYPED && TYPEABLE.test(typed)) ? typed : common.typedInstead
  const [problem, setProblem] = useState<Problem | null>(null)
  const [busy, setBusy] = useState(false)
  const run = async () => {
    setBusy(true)
    setProblem(null)
    try {
      await onConfirm()
    } catch (error) {
      setProblem(toProblem(error))
      setBusy(false)
    }
  }
  return (
    <ModalOverlay isOpen onOpenChange={onClose} className={`${styles.shade} ${styles.center}`} data-overlay>
      <Modal className={styles.modal!}>
        <Dialog role="alertdialog" className={`${styles.dialog} ${styles.form}`}>
          <div className={styles.head}>
            <Heading slot="title">{title}</Heading>
          </div>
          <div className={styles.body}>{children}</div>
          {word !== null && (
            <Field label={common.typeToConfirm(word)} value={text} onChange={setText} isRequired autoFocus />
          )}
          {problem && <ProblemNotice error={problem} title={problems.actionTitle} />}
          <div className={styles.actions}>
            <Button onPress={onClose} autoFocus={word === null}>
              {common.cancel}
            </Button>
            <Button
              kind="danger"
              isPending={busy}
              isDisabled={!online || (word !== null && text.trim().normalize() !== word.normalize())}
              onPress={() => void run()}
            >
              {confirm}
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
