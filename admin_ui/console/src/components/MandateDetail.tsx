import type { SchemaMandateView } from '../api/schema.d.ts'
import { useMessages } from '../messages/index.tsx'
import { StatusBadge } from './StatusBadge.tsx'
import { Time } from './Time.tsx'

interface MandateDetailProps {
  mandate: SchemaMandateView
  /** Where its person agrees to it; without it the page is not theirs. */
  ownPage?: string
}

/** The tools, the times and the state of what works in somebody's absence. */
export function MandateDetail({ mandate, ownPage }: MandateDetailProps) {
  const { mandates } = useMessages()
  return (
    <>
      {mandate.consented_at === null && (
        <>
          <StatusBadge tone="none" text={mandates.waits} /> {ownPage && <a href={ownPage}>{mandates.agree}</a>}{' '}
        </>
      )}
      {mandate.tools.join(', ')}
      {mandate.client && ` · ${mandate.client}`} · {mandates.since} <Time at={mandate.created_at} /> ·{' '}
      {mandate.last_used_at ? (
        <>
          {mandates.lastUsed} <Time at={mandate.last_used_at} />
        </>
      ) : (
        mandates.neverUsed
      )}{' '}
      · {mandates.until} <Time at={mandate.expires_at} />
    </>
  )
}

/** The function that names a mandate: its title, or what it is for. */
export function useMandateName(): (mandate: SchemaMandateView) => string {
  const { mandates } = useMessages()
  return (mandate) => mandate.title || mandates.purposes[mandate.purpose as keyof typeof mandates.purposes] || mandate.purpose
}
