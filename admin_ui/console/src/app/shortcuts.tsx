import { useEffect, useEffectEvent, useSyncExternalStore } from 'react'
import { readSetting, writeSetting } from './settings.ts'

/**
 * A key, or two in turn (`g u`), as `KeyboardEvent.key` in lower case; `mod+` is Ctrl or Command. Keys without `mod+`
 * work outside fields only, never while an input method composes, and not where the person has switched them off.
 */
export interface Shortcut {
  keys: string
  label: string
  run: () => void
}

const SEQUENCE_MS = 1000
const IN_DIALOGS = new Set(['/', '?'])
const active: Shortcut[] = []
const listeners = new Set<() => void>()
let shown: readonly Shortcut[] = []
let first = { key: '', at: 0 }

/** Register a shortcut while the component is mounted; of two with the same keys the later one counts. */
export function useShortcut(keys: string, label: string, run: () => void): void {
  const call = useEffectEvent(run)
  useEffect(() => {
    const shortcut: Shortcut = { keys, label, run: () => call() }
    active.push(shortcut)
    notify()
    return () => {
      active.splice(active.indexOf(shortcut), 1)
      notify()
    }
  }, [keys, label])
}

/** All shortcuts of this moment, for the list that `?` shows. */
export function useShortcuts(): readonly Shortcut[] {
  return useSyncExternalStore(subscribe, () => shown)
}

export function areSingleKeysOn(): boolean {
  return readSetting('shortcuts') !== 'off'
}

export function setSingleKeys(on: boolean): void {
  writeSetting('shortcuts', on ? null : 'off')
}

/** Listen to the keyboard; mounted once. */
export function useShortcutListener(): void {
  useEffect(() => {
    document.addEventListener('keydown', handleKey)
    return () => document.removeEventListener('keydown', handleKey)
  }, [])
}

export function handleKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || event.keyCode === 229 || event.altKey) return
  const found = find(event)
  if (!found) return
  event.preventDefault()
  found.run()
}

function find(event: KeyboardEvent): Shortcut | undefined {
  const key = event.key.toLowerCase()
  if (event.ctrlKey || event.metaKey) return lookUp(`mod+${key}`)
  if (!areSingleKeysOn() || isTyping(event.target)) return undefined
  const sequence = event.timeStamp - first.at < SEQUENCE_MS ? lookUp(`${first.key} ${key}`) : undefined
  first = sequence ? { key: '', at: 0 } : { key, at: event.timeStamp }
  if (sequence) return sequence
  // What is behind an open panel or dialog cannot be worked with.
  return isInDialog(event.target) && !IN_DIALOGS.has(key) ? undefined : lookUp(key)
}

function lookUp(keys: string): Shortcut | undefined {
  return active.findLast((shortcut) => shortcut.keys === keys)
}

function isInDialog(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('[role=dialog], [role=alertdialog]') !== null
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.closest('input, textarea, select, [role=listbox], [role=menu]') !== null)
  )
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function notify(): void {
  const latest = new Map(active.map((shortcut) => [shortcut.keys, shortcut]))
  shown = [...latest.values()]
  for (const listener of listeners) listener()
}
