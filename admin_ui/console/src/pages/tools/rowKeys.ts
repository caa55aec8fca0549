import type { KeyboardEvent } from 'react'
import { useShortcut } from '../../app/shortcuts.tsx'
import { useMessages } from '../../messages/index.tsx'

const ROWS = '[data-row]'

/** J, K and the arrows walk what has `data-row`, over the borders of cards. Gives the handler of key presses. */
export function useRowKeys(): (event: KeyboardEvent<HTMLElement>) => void {
  const { shell } = useMessages()
  useShortcut('j', shell.keys.nextRow, () => moveFocus(1))
  useShortcut('k', shell.keys.previousRow, () => moveFocus(-1))
  return moveByArrow
}

function moveByArrow(event: KeyboardEvent<HTMLElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (!step || !(event.target instanceof HTMLElement) || !event.target.matches(ROWS)) return
  event.preventDefault()
  moveFocus(step)
}

function moveFocus(step: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>(ROWS)]
  const at = rows.findIndex((row) => row === document.activeElement)
  const next = rows[at < 0 ? 0 : at + step]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
}
