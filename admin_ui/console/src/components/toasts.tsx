import { X } from 'lucide-react'
import { useSyncExternalStore } from 'react'
import { useMessages } from '../messages/index.tsx'
import { Button, IconButton } from './Button.tsx'
import styles from './toasts.module.css'

interface Toast {
  id: number
  text: string
  /** A second request that takes back what was done. */
  undo?: () => Promise<void>
}

const SHOWN_MS = 6000
const MOST = 3
let toasts: readonly Toast[] = []
let count = 0
const listeners = new Set<() => void>()

/** Say that something was done. What failed belongs beside the button that was pressed, not here. */
export function showToast(text: string, undo?: () => Promise<void>): void {
  const toast: Toast = { id: ++count, text, ...(undo && { undo }) }
  set([...toasts, toast].slice(-MOST))
  setTimeout(() => dismiss(toast.id), SHOWN_MS)
}

export function ToastRegion() {
  const { common, problems } = useMessages()
  const shown = useSyncExternalStore(subscribe, () => toasts)
  // Open dialogs make everything else inert, but not what has this attribute: Undo has to work beside them.
  return (
    <div role="status" className={styles.region} data-react-aria-top-layer="true">
      {shown.map(({ id, text, undo }) => (
        <div key={id} className={styles.toast}>
          <span>{text}</span>
          {undo && (
            <Button
              kind="quiet"
              onPress={() => {
                dismiss(id)
                undo().catch(() => showToast(problems.actionTitle))
              }}
            >
              {common.undo}
            </Button>
          )}
          <IconButton icon={X} label={common.close} onPress={() => dismiss(id)} />
        </div>
      ))}
    </div>
  )
}

function dismiss(id: number): void {
  set(toasts.filter((toast) => toast.id !== id))
}

function set(next: readonly Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
