import { useNavigate } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useShortcut } from '../../app/shortcuts.tsx'
import { Button } from '../../components/Button.tsx'
import { DetailPanel } from '../../components/DetailPanel.tsx'
import { PageHead } from '../../components/ListTools.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { ViewLinks } from '../../components/ViewLinks.tsx'
import { useMessages } from '../../messages/index.tsx'
import { ClientTrust } from './ClientTrust.tsx'
import { ProviderForm } from './ProviderForm.tsx'
import { ProviderList } from './ProviderList.tsx'
import { identityRoute } from './route.ts'

const OF_DIALOG = ['dialog'] as const

/** How people and clients come in; for the operator of the deployment. */
export function IdentityPage() {
  const { identity } = useMessages()
  const search = identityRoute.useSearch()
  const navigate = useNavigate({ from: '/identity' })
  const { open, close } = useOverlay(OF_DIALOG)
  const add = () => open({ view: '', dialog: 'new' })
  useShortcut('n', identity.add, add)
  return (
    <>
      <PageHead title={identity.title}>
        {!search.view && (
          <Button kind="primary" icon={Plus} onPress={add}>
            {identity.add}
          </Button>
        )}
      </PageHead>
      <ViewLinks
        label={identity.title}
        selected={search.view ?? 'providers'}
        views={(['providers', 'trust'] as const).map((view) => ({ view, label: identity.views[view] }))}
      />
      {search.view === 'trust' ? <ClientTrust asks={search.dialog === 'reset'} /> : <ProviderList search={search} onAdd={add} />}
      {search.dialog === 'new' && (
        <DetailPanel title={identity.add} onClose={close} padded>
          <ProviderForm onSaved={(id) => void navigate({ search: { id }, replace: true })} />
        </DetailPanel>
      )}
    </>
  )
}
