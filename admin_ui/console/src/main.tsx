import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { createQueryClient, meQuery } from './api/queries.ts'
import { buildSignInUrl, listenToOtherTabs, rememberPerson } from './api/session.ts'
import type { SchemaCurrentUserView } from './api/schema.d.ts'
import { startLive } from './app/live.ts'
import { router } from './app/router.tsx'
import { setSingleKeys } from './app/shortcuts.tsx'
import { setTimeZone } from './messages/format.ts'
import { type Language, LanguageProvider, loadMessages } from './messages/index.tsx'
import './styles/base.css'

const RELOADED = 'mcpist.reloaded'

/** A part of the page cannot be loaded. Where the server answers, a newer build has taken its place: load that one, once.
 * Where it does not, a reload would lose the page; and where a link was only pointed at, nothing is missing yet. */
window.addEventListener('vite:preloadError', () => {
  const isAhead = fetchedAhead > 0 && !router.state.isLoading
  if (!isAhead && !sessionStorage.getItem(RELOADED)) void reloadIfServed()
})

let fetchedAhead = 0
const { preloadRoute } = router
router.preloadRoute = (async (options: Parameters<typeof preloadRoute>[0]) => {
  fetchedAhead += 1
  try {
    return await preloadRoute(options)
  } finally {
    fetchedAhead -= 1
  }
}) as typeof preloadRoute

async function reloadIfServed(): Promise<void> {
  const answer = await fetch('/console/', { cache: 'no-store', credentials: 'same-origin' }).catch(() => null)
  if (!answer?.ok) return
  sessionStorage.setItem(RELOADED, '1')
  location.reload()
}

async function start(): Promise<void> {
  const answer = await fetch('/api/v1/me', { credentials: 'same-origin' }).catch(() => null)
  if (answer?.status === 401) {
    location.replace(buildSignInUrl(location.pathname + location.search))
    return
  }
  const queries = createQueryClient()
  const me: SchemaCurrentUserView | null = answer?.ok ? await answer.json() : null
  if (me) {
    queries.setQueryData(meQuery.queryKey, me)
    rememberPerson(me.id)
  }
  const language = me ? applyProfile(me) : readLanguage()
  const messages = await loadMessages(language)
  listenToOtherTabs(() => {
    queries.clear()
    location.assign('/signed-out')
  })
  watchPerson(queries)
  if (me) startLive(queries, me.id)
  sessionStorage.removeItem(RELOADED)
  createRoot(document.getElementById('root')!).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <LanguageProvider language={language} messages={messages}>
          <RouterProvider router={router} />
        </LanguageProvider>
      </QueryClientProvider>
    </StrictMode>,
  )
}

/** Language, time zone and shortcuts of the person's profile win over those of this browser. */
function applyProfile(me: SchemaCurrentUserView): Language {
  setTimeZone(me.time_zone ?? undefined)
  setSingleKeys(me.single_key_shortcuts)
  const language = me.language ?? readLanguage()
  document.documentElement.lang = language
  return language
}

function readLanguage(): Language {
  return document.documentElement.lang === 'ja' ? 'ja' : 'en'
}

/** Begin anew when another person has signed in meanwhile: nothing of the first one stays. */
function watchPerson(queries: ReturnType<typeof createQueryClient>): void {
  const begun = queries.getQueryData(meQuery.queryKey)?.id
  queries.getQueryCache().subscribe(({ query }) => {
    if (query.queryKey[0] !== 'me') return
    const id = queries.getQueryData(meQuery.queryKey)?.id
    if (begun !== undefined && id !== undefined && id !== begun) location.assign('/console')
  })
}

void start()
