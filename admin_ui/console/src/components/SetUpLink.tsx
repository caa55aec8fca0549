import { Link } from '@tanstack/react-router'
import { hasRight, useMe } from '../api/queries.ts'
import { useMessages } from '../messages/index.tsx'
import type { SetupState } from './SetupBadge.tsx'

interface SetUpLinkProps {
  module: string
  title: string
  /** How far the service is set up, where that is known: it decides which tab is opened. */
  state?: SetupState
}

const TABS: Partial<Record<SetupState, 'general' | 'settings'>> = { off: 'general', needs_site: 'settings' }

/** Where an administrator sets a service up so that accounts can be connected; other people are told whom to ask. */
export function SetUpLink({ module, title, state = 'needs_client' }: SetUpLinkProps) {
  const { connections } = useMessages()
  if (!hasRight(useMe(), 'administer')) return <>{connections.askAdministrator}</>
  return (
    <Link to="/services" search={{ id: module, tab: TABS[state] ?? 'oauth' }} aria-label={connections.setUpService(title)}>
      {connections.setUp}
    </Link>
  )
}
