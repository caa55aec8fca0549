/**
 * What changes appears without a reload: one event stream for all tabs of a person. The tab that holds the lock reads it
 * and passes it on; when it closes, another one takes over. Tabs without locks (no secure context) ask every 30 s.
 */
import type { QueryClient } from '@tanstack/react-query'
import { useEffect, useEffectEvent, useSyncExternalStore } from 'react'
import { computePause, EventParser, type Hint, readHint, type StreamEvent } from '../api/events.ts'
import { makeRefetch } from './refetch.ts'

/** `interrupted`: no stream for longer than a server needs to hand over. */
export type LiveState = 'beginning' | 'live' | 'interrupted'

type Message =
  | { type: 'hint'; hint: Hint; id: string }
  | { type: 'everything'; id: string }
  | { type: 'state'; state: LiveState; id?: string }
  | { type: 'ask' }

/** The server gives a sign of life every 15 s; a computer that slept has heard none. */
const SILENCE_MS = 40_000
const POLL_MS = 30_000
const FAILURES_UNTIL_INTERRUPTED = 2

const hintListeners = new Set<(hint: Hint | 'everything') => void>()
const stateListeners = new Set<() => void>()
let state: LiveState = 'beginning'

export function useLiveState(): LiveState {
  return useSyncExternalStore(
    (listener) => {
      stateListeners.add(listener)
      return () => stateListeners.delete(listener)
    },
    () => state,
  )
}

/** Hear of each change while mounted; `everything` after a gap. Queries are fetched again without it. */
export function useHints(onHint: (hint: Hint | 'everything') => void): void {
  const call = useEffectEvent(onHint)
  useEffect(() => {
    const listener = (hint: Hint | 'everything') => call(hint)
    hintListeners.add(listener)
    return () => {
      hintListeners.delete(listener)
    }
  }, [])
}

/** Begin, once a page; the stream is that of this person alone. */
export function startLive(queries: QueryClient, userId: string): void {
  hintListeners.add(makeRefetch(queries))
  if (typeof navigator.locks === 'undefined' || typeof BroadcastChannel === 'undefined') {
    setInterval(() => document.hidden || tell('everything'), POLL_MS)
    return
  }
  const name = `mcpist.events.${userId}`
  const channel = new BroadcastChannel(name)
  let lastId = ''
  const take = (message: Message) => {
    if (message.type === 'ask') return
    if (message.id) lastId = message.id
    if (message.type === 'state') setState(message.state)
    else tell(message.type === 'hint' ? message.hint : 'everything')
  }
  channel.onmessage = ({ data }: MessageEvent<Message>) => take(data)
  channel.postMessage({ type: 'ask' } satisfies Message)
  void navigator.locks.request(name, () => {
    const send = (message: Message) => {
      take(message)
      channel.postMessage(message)
    }
    channel.onmessage = ({ data }: MessageEvent<Message>) => {
      if (data.type === 'ask') channel.postMessage({ type: 'state', state } satisfies Message)
    }
    return lead(send, () => lastId)
  })
}

/** Read one stream after the other for as long as the page lives. */
async function lead(send: (message: Message) => void, getLastId: () => string): Promise<never> {
  for (let failures = 0; ; failures += 1) {
    const began = await readStream(send, getLastId())
    if (began) failures = 0
    if (failures >= FAILURES_UNTIL_INTERRUPTED) send({ type: 'state', state: 'interrupted' })
    await waitToRetry(computePause(failures, Math.random()))
  }
}

/** Read a stream to its end. Gives whether it began. */
async function readStream(send: (message: Message) => void, lastId: string): Promise<boolean> {
  const abort = new AbortController()
  let timer = setTimeout(() => abort.abort(), SILENCE_MS)
  let began = false
  try {
    const answer = await fetch('/api/v1/events', {
      credentials: 'same-origin',
      cache: 'no-store',
      headers: lastId ? { 'Last-Event-ID': lastId } : {},
      signal: abort.signal,
    })
    if (!answer.ok || !answer.body) return false
    const parser = new EventParser()
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return began
      clearTimeout(timer)
      timer = setTimeout(() => abort.abort(), SILENCE_MS)
      for (const event of parser.feed(value)) {
        began = true
        passOn(event, lastId !== '', send)
      }
    }
  } catch {
    return began // the connection has gone, or was silent for too long
  } finally {
    clearTimeout(timer)
    abort.abort()
  }
}

/** Tell this tab and the others of an event. A stream that does not go on from a number may have missed something. */
function passOn(event: StreamEvent, goesOn: boolean, send: (message: Message) => void): void {
  const { id } = event
  const hint = readHint(event)
  if (hint) send({ type: 'hint', hint, id })
  if (event.name !== 'ready' && event.name !== 'reset') return
  // What a fresh page shows was read a moment ago.
  if (event.name === 'reset' || (!goesOn && state !== 'beginning')) send({ type: 'everything', id })
  send({ type: 'state', state: 'live', id })
}

/** Wait for so long, or until there is a reason to try at once: the network is back, somebody looks at the page. */
function waitToRetry(pause: number): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      clearTimeout(timer)
      window.removeEventListener('online', go)
      document.removeEventListener('visibilitychange', goIfSeen)
      resolve()
    }
    const goIfSeen = () => {
      if (!document.hidden) go()
    }
    const timer = setTimeout(go, pause)
    window.addEventListener('online', go)
    document.addEventListener('visibilitychange', goIfSeen)
  })
}

function tell(hint: Hint | 'everything'): void {
  for (const listener of hintListeners) listener(hint)
}

function setState(next: LiveState): void {
  if (next === state) return
  state = next
  for (const listener of stateListeners) listener()
}
