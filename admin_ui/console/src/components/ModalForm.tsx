import { X } from 'lucide-react'
import { type FormEvent, type KeyboardEvent, type ReactNode, useState } from 'react'
import { Dialog, Form, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { type Problem, toProblem } from '../api/problems.ts'
import { useMessages } from '../messages/index.tsx'
import { Button, IconButton } from './Button.tsx'
import styles from './Overlay.module.css'
import { ProblemNotice, useOnline } from './States.tsx'

interface ModalFormProps {
  title: string
  submit: string
  onClose: () => void
  /** Send what the fields hold. What it throws is shown: at the fields that the API names, else above the buttons. */
  onSubmit: (data: FormData) => Promise<void>
  children: ReactNode
  /** What a form that catches its errors itself has met. */
  problem?: Problem | null
  /** Where somebody else has changed the same: both versions, and the choice in the place of the buttons. */
  conflict?: ReactNode
  hasConflict?: boolean
  /** In the place of the form once it is done, as for a secret that is shown once. */
  result?: ReactNode
  /** For long texts. */
  wide?: boolean
}

/** A dialog that makes something. It is open as long as it is mounted. */
export function ModalForm(props: ModalFormProps) {
  const { title, submit, onClose, onSubmit, children, result, conflict, hasConflict = false, wide } = props
  const messages = useMessages()
  const { common, problems } = messages
  const online = useOnline()
  const [caught, setProblem] = useState<Problem | null>(null)
  const problem = caught ?? props.problem ?? null
  const fields = problem?.describe(messages)?.fields ?? problem?.fields ?? {}
  const [busy, setBusy] = useState(false)
  const send = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (busy) return
    const data = new FormData(event.currentTarget)
    setBusy(true)
    setProblem(null)
    try {
      await onSubmit(data)
    } catch (error) {
      setProblem(toProblem(error))
    } finally {
      setBusy(false)
    }
  }
  return (
    <ModalOverlay isOpen isDismissable={false} onOpenChange={onClose} className={`${styles.shade} ${styles.center}`} data-overlay>
      <Modal className={wide ? `${styles.modal} ${styles.wide}` : styles.modal!}>
        <Dialog className={styles.dialog!}>
          <div onKeyDown={submitByKey}>
            <Form
              className={styles.form!}
              onSubmit={(event) => void send(event)}
              {...(problem && { validationErrors: fields })}
            >
              <div className={styles.head}>
                <Heading slot="title">{title}</Heading>
                <IconButton icon={X} label={common.close} onPress={onClose} />
              </div>
              {result ?? (
                <>
                  <div className={styles.body}>{children}</div>
                  {problem && Object.keys(fields).length === 0 && (
                    <ProblemNotice error={problem} title={problems.actionTitle} />
                  )}
                  {conflict}
                  {!hasConflict && (
                    <div className={styles.actions}>
                      <Button onPress={onClose}>{common.cancel}</Button>
                      <Button kind="primary" type="submit" isPending={busy} isDisabled={!online}>
                        {submit}
                      </Button>
                    </div>
                  )}
                </>
              )}
            </Form>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

function submitByKey(event: KeyboardEvent<HTMLElement>): void {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.nativeEvent.isComposing) return
  event.preventDefault()
  event.currentTarget.querySelector('form')?.requestSubmit()
}
