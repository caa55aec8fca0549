import { Link } from '@tanstack/react-router'
import { Card } from '../../../components/Card.tsx'
import { ItemList } from '../../../components/Facts.tsx'
import { useLocalized } from '../../../components/Localized.tsx'
import { StatusBadge, type Tone } from '../../../components/StatusBadge.tsx'
import { useMessages } from '../../../messages/index.tsx'
import { findConnectMethod, type Known, type ConnectMethod } from './steps.ts'

const TONES: Record<ConnectMethod | 'off', Tone> = { key: 'ok', oauth: 'ok', needs_client: 'warn', off: 'none' }

/** The services that people have accounts at, and what is still to be done before somebody can connect one. */
export function ServiceStep({ known }: { known: Known }) {
  const { guidedStart, services } = useMessages()
  const localized = useLocalized()
  const listed = known.services.flatMap((service) => {
    const method = service.has_vendor && service.installed ? findConnectMethod(service.module, known) : null
    return method ? [{ ...service, title: localized({ en: service.title, ja: service.title_ja }), method: service.enabled ? method : ('off' as const) }] : []
  })
  return (
    <Card title={guidedStart.serviceTitle} help={guidedStart.serviceHelp}>
      <ItemList
        label={services.title}
        items={listed}
        itemKey={(service) => service.module}
        title={(service) => service.title}
        detail={(service) => guidedStart.methods[service.method]}
        end={(service) => (
          <>
            <StatusBadge tone={TONES[service.method]} text={guidedStart.states[service.method]} />
            <Link
              to="/services"
              search={{ id: service.module, ...(service.method !== 'off' && { tab: 'oauth' as const }) }}
              aria-label={guidedStart.setUpService(service.title)}
            >
              {guidedStart.setUp}
            </Link>
          </>
        )}
        empty={services.emptyText}
      />
    </Card>
  )
}
