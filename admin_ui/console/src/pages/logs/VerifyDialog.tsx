import { useEffect, useState } from 'react'
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { api, read } from '../../api/client.ts'
import { type Problem, toProblem } from '../../api/problems.ts'
import type { SchemaVerificationView } from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import overlay from '../../components/Overlay.module.css'
import { ProblemNotice } from '../../components/States.tsx'
import { StatusBadge } from '../../components/StatusBadge.tsx'
import { useFormat, useMessages } from '../../messages/index.tsx'
import styles from './logs.module.css'

interface Progress {
  checked: number
  latest: SchemaVerificationView | null
  problem: Problem | null
}

const BEGUN: Progress = { checked: 0, latest: null, problem: null }

/** Verifies the chain of the log, a part at a time; closing ends it. */
export function VerifyDialog({ onClose }: { onClose: () => void }) {
  const { common, logs, problems } = useMessages()
  const format = useFormat()
  const { checked, latest, problem } = useVerification()
  const head = latest?.head?.seq ?? 0
  const isOver = latest !== null && (latest.complete || !latest.ok)
  return (
    <ModalOverlay isOpen onOpenChange={onClose} className={`${overlay.shade} ${overlay.center}`} data-overlay>
      <Modal className={overlay.modal!}>
        <Dialog className={`${overlay.dialog} ${overlay.form}`}>
          <Heading slot="title">{logs.verifyTitle}</Heading>
          <div className={styles.verify}>
            <p>{logs.verifyText}</p>
            {!isOver && !problem && (
              <>
                <progress
                  className={styles.progress}
                  aria-label={logs.verifyTitle}
                  {...(head > 0 && { value: latest?.position?.seq ?? 0, max: head })}
                />
                <p role="status">{logs.checking(format.number(checked))}</p>
              </>
            )}
            {isOver && (
              <div role="status" className={styles.verify}>
                <p>
                  <StatusBadge tone={latest.ok ? 'ok' : 'bad'} text={latest.ok ? logs.intact : logs.broken} />
                </p>
                <p>{latest.ok ? logs.verified(format.number(checked)) : logs.brokenAt(format.number(latest.first_bad ?? 0))}</p>
                {!latest.ok && <p lang="en">{latest.problem}</p>}
                <p>{logs.anchors}</p>
              </div>
            )}
            {problem && <ProblemNotice error={problem} title={problems.actionTitle} />}
          </div>
          <div className={overlay.actions}>
            <Button onPress={onClose} autoFocus>
              {isOver ? common.close : common.cancel}
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

function useVerification(): Progress {
  const [progress, setProgress] = useState(BEGUN)
  useEffect(() => {
    const abort = new AbortController()
    const verify = async () => {
      let checked = 0
      let position: SchemaVerificationView['position'] = null
      for (;;) {
        const body = position ? { seq: position.seq, hash: position.hash } : {}
        const latest: SchemaVerificationView = await read(api.POST('/api/v1/audit/verification', { body, signal: abort.signal }))
        checked += latest.checked
        position = latest.position
        setProgress({ checked, latest, problem: null })
        if (latest.complete || !latest.ok) return
      }
    }
    verify().catch((error: unknown) => {
      if (!abort.signal.aborted) setProgress((before) => ({ ...before, problem: toProblem(error) }))
    })
    return () => abort.abort()
  }, [])
  return progress
}
