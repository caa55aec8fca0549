import { Link } from '@tanstack/react-router'
import { hasRight, useMe } from '../../api/queries.ts'
import { PageHead } from '../../components/ListTools.tsx'
import { useMessages } from '../../messages/index.tsx'
import { ConnectClient } from './ConnectClient.tsx'
import { Dashboard } from './dashboard/Dashboard.tsx'
import { GuidedStart } from './guided/GuidedStart.tsx'
import { Overview } from './Overview.tsx'
import { homeRoute } from './route.ts'

/** Where somebody begins: administrators with the dashboard, people (and administrators as such) with their own start. */
export function HomePage() {
  const me = useMe()
  const { view, client, start } = homeRoute.useSearch()
  const administers = hasRight(me, 'administer')
  if (administers && start) return <GuidedStart start={start} />
  return administers && view !== 'own' && client === undefined ? <Dashboard /> : <OwnStart administers={administers} />
}

/** The person's roles, how their services stand, and how a client is connected. */
function OwnStart({ administers }: { administers: boolean }) {
  const { dashboard, home } = useMessages()
  return (
    <>
      <PageHead title={home.title}>{administers && <Link to="/">{dashboard.title}</Link>}</PageHead>
      <Overview />
      <ConnectClient />
    </>
  )
}
