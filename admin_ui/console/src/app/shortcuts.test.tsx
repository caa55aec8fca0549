// @vitest-environment jsdom
import { cleanup, render } from '@testing-library/react'
import { afterEach, expect, test, vi } from 'vitest'
import { setSingleKeys, useShortcut, useShortcutListener } from './shortcuts.tsx'

function Page({ run }: { run: (what: string) => void }) {
  useShortcutListener()
  useShortcut('/', 'search', () => run('search'))
  useShortcut('g u', 'people', () => run('people'))
  useShortcut('mod+k', 'palette', () => run('palette'))
  return <input aria-label="field" />
}

function press(key: string, options: KeyboardEventInit = {}, target: Element = document.body): void {
  target.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...options }))
}

afterEach(() => {
  cleanup()
  setSingleKeys(true)
})

test('keys, sequences and modifiers run what they are for', () => {
  const run = vi.fn()
  render(<Page run={run} />)
  press('/')
  press('g')
  press('u')
  press('u')
  press('K', { ctrlKey: true })
  press('k', { metaKey: true })
  expect(run.mock.calls.flat()).toEqual(['search', 'people', 'palette', 'palette'])
})

test('a single key does nothing in a field, while composing, and when switched off; Ctrl K always works', () => {
  const run = vi.fn()
  const { getByLabelText } = render(<Page run={run} />)
  press('/', {}, getByLabelText('field'))
  press('/', { isComposing: true })
  press('/', { keyCode: 229 })
  setSingleKeys(false)
  press('/')
  expect(run).not.toHaveBeenCalled()
  press('k', { ctrlKey: true }, getByLabelText('field'))
  expect(run).toHaveBeenCalledOnce()
})

test('what is not mounted any more does nothing', () => {
  const run = vi.fn()
  render(<Page run={run} />).unmount()
  press('/')
  expect(run).not.toHaveBeenCalled()
})
