import { Plus } from 'lucide-react'
import { useShortcut } from '../../app/shortcuts.tsx'
import { Button } from '../../components/Button.tsx'
import { PageHead } from '../../components/ListTools.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { ViewLinks } from '../../components/ViewLinks.tsx'
import { useMessages } from '../../messages/index.tsx'
import { ConnectedClients } from './ConnectedClients.tsx'
import { Issuers } from './Issuers.tsx'
import { RegisterForm } from './RegisterForm.tsx'
import { RegisteredClients } from './RegisteredClients.tsx'
import { clientsRoute } from './route.ts'
import { TrustForm } from './TrustForm.tsx'

const OF_DIALOG = ['dialog'] as const

/** Who may speak to MCPist for a person: connected applications, registered clients, trusted issuers. */
export function ClientsPage() {
  const { oauthClients } = useMessages()
  const search = clientsRoute.useSearch()
  const { open, close } = useOverlay(OF_DIALOG)
  const view = search.view ?? 'connected'
  const add = () => open({ view: view === 'issuers' ? 'issuers' : 'registered', dialog: view === 'issuers' ? 'trust' : 'new' })
  const addLabel = view === 'issuers' ? oauthClients.trust : oauthClients.add
  useShortcut('n', addLabel, add)
  return (
    <>
      <PageHead title={oauthClients.title}>
        <Button kind="primary" icon={Plus} onPress={add}>
          {addLabel}
        </Button>
      </PageHead>
      <ViewLinks
        label={oauthClients.views}
        selected={view}
        views={[
          { view: 'connected', label: oauthClients.connected },
          { view: 'registered', label: oauthClients.registered },
          { view: 'issuers', label: oauthClients.issuers },
        ]}
      />
      {view === 'connected' && <ConnectedClients search={search} />}
      {view === 'registered' && <RegisteredClients search={search} />}
      {view === 'issuers' && <Issuers search={search} />}
      {search.dialog === 'new' && <RegisterForm onClose={close} />}
      {search.dialog === 'trust' && <TrustForm onClose={close} />}
    </>
  )
}
