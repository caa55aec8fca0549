import { PageHead } from '../../components/ListTools.tsx'
import { useMessages } from '../../messages/index.tsx'
import { ConnectClient } from './ConnectClient.tsx'
import { Overview } from './Overview.tsx'

/** Where somebody begins: their roles, how their services stand, and how a client is connected. */
export function HomePage() {
  const { home } = useMessages()
  return (
    <>
      <PageHead title={home.title} />
      <Overview />
      <ConnectClient />
    </>
  )
}
