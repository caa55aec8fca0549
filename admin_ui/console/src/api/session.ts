/** The browser's session, seen from a page: it may end, be too old for something, or become somebody else's. */

import type { SchemaCurrentUserView } from './schema.d.ts'

export type SignInNeed = 'expired' | 'recent'

type Listener = () => void

const channel = typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel('mcpist.session')
const listeners = new Set<Listener>()
let need: SignInNeed | null = null
let personId: string | null = null
let waiting: { resume: () => void; give: () => void }[] = []

/** What the person is asked for at the moment; for useSyncExternalStore. */
export function getSignInNeed(): SignInNeed | null {
  return need
}

export function subscribeToSession(listener: Listener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Ask the person to sign in again. Resolves when they have, rejects when they close the dialog. */
export function waitForSignIn(what: SignInNeed): Promise<void> {
  return new Promise((resolve, reject) => {
    waiting.push({ resume: resolve, give: () => reject(new Error('not signed in')) })
    setNeed(what)
  })
}

/** Say whose page this is. */
export function rememberPerson(id: string): void {
  personId = id
}

/** Go on if the person has signed in meanwhile. Where somebody else has, nothing is sent as them: the page begins anew. */
export async function lookForSignIn(): Promise<void> {
  const answer = await fetch('/api/v1/me', { credentials: 'same-origin' }).catch(() => null)
  if (!answer?.ok) return
  const me = (await answer.json()) as SchemaCurrentUserView
  if (personId !== null && me.id !== personId) location.assign('/console')
  else if (need === 'expired' || me.recent_sign_in_until !== null) resumeAfterSignIn()
}

function resumeAfterSignIn(): void {
  const resumed = waiting
  waiting = []
  setNeed(null)
  for (const { resume } of resumed) resume()
}

export function giveUpSignIn(): void {
  const given = waiting
  waiting = []
  setNeed(null)
  for (const { give } of given) give()
}

/** Tell the other tabs. */
export function announce(what: 'signed-in' | 'signed-out'): void {
  channel?.postMessage(what)
}

/** Hear what other tabs announce: a sign-in goes on where it was, a sign-out ends this page too. */
export function listenToOtherTabs(onSignedOut: () => void): void {
  channel?.addEventListener('message', (event) => {
    if (event.data === 'signed-in' && need !== null) void lookForSignIn()
    if (event.data === 'signed-out') onSignedOut()
  })
}

/** End the session, here and in every tab. */
export async function signOut(): Promise<void> {
  // The answer leads to /signed-out, where the page goes itself.
  await fetch('/sign-out', { method: 'POST', credentials: 'same-origin', redirect: 'manual' })
  announce('signed-out')
  location.assign('/signed-out')
}

/** Address of the sign-in that comes back to this page. */
export function buildSignInUrl(next: string, notice?: 'recent'): string {
  return `/sign-in?${new URLSearchParams({ ...(notice && { notice }), next })}`
}

function setNeed(next: SignInNeed | null): void {
  need = next
  for (const listener of listeners) listener()
}
