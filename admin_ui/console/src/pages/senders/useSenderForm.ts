import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Versioned } from '../../api/versions.ts'
import { showToast } from '../../components/toasts.tsx'
import { useVersionedForm } from '../../components/useVersionedForm.ts'
import { useMessages } from '../../messages/index.tsx'
import { senderQuery } from './queries.ts'
import type { SenderKind } from './route.ts'

/** `"v0"`: nothing is stored, so that a new sender replaces none. */
export const NOT_STORED = '"v0"'

interface SenderFormOptions<Values extends object> {
  kind: SenderKind
  stored: Versioned<Values>
  pick: (body: Values) => Values
  /** Store all values, and a secret where one was entered. */
  put: (values: Values, secret: string | null, despiteFailures: boolean, etag: string) => Promise<unknown>
}

/** What the forms of a sender share: its values, the secret that only goes in, and saving all of it. */
export function useSenderForm<Values extends object>({ kind, stored, pick, put }: SenderFormOptions<Values>) {
  const { senders } = useMessages()
  const queries = useQueryClient()
  const [secret, setSecret] = useState('')
  const [despite, setDespite] = useState(false)
  const refresh = () => queries.invalidateQueries({ queryKey: ['senders'] })
  const form = useVersionedForm<Values, Values>({
    stored,
    pick,
    refresh,
    send: async (changes, etag) => {
      // The API takes a sender whole, so what somebody else has changed meanwhile is read before it is sent.
      const base = etag === stored.etag ? stored : ((await queries.fetchQuery({ ...senderQuery(kind), staleTime: 0 })) as Values)
      await put({ ...pick(base), ...changes }, secret === '' ? null : secret, despite, etag)
      setSecret('')
      await refresh()
      showToast(senders.saved[kind])
    },
  })
  return { form, secret, setSecret, despite, setDespite }
}
