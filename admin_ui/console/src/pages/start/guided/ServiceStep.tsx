import { Card } from '../../../components/Card.tsx'
import { findConnectMethod } from '../../../components/connectMethods.ts'
import { ItemList } from '../../../components/Facts.tsx'
import { useLocalized } from '../../../components/Localized.tsx'
import { SetupBadge, type SetupState } from '../../../components/SetupBadge.tsx'
import { SetUpLink } from '../../../components/SetUpLink.tsx'
import { useMessages } from '../../../messages/index.tsx'
import type { Known } from './steps.ts'

/** The services that people have accounts at, and what is still to be done before somebody can connect one. */
export function ServiceStep({ known }: { known: Known }) {
  const { connections, guidedStart, services } = useMessages()
  const localized = useLocalized()
  const listed = known.setup.services.flatMap((service) => {
    const method = service.has_vendor && service.installed ? findConnectMethod(service.module, known.setup) : null
    const state: SetupState | null = method && !service.enabled ? 'off' : method
    return state ? [{ ...service, title: localized({ en: service.title, ja: service.title_ja }), state }] : []
  })
  return (
    <Card title={guidedStart.serviceTitle} help={guidedStart.serviceHelp}>
      <ItemList
        label={services.title}
        items={listed}
        itemKey={(service) => service.module}
        title={(service) => service.title}
        detail={(service) => connections.methods[service.state]}
        end={(service) => (
          <>
            <SetupBadge state={service.state} />
            <SetUpLink module={service.module} title={service.title} state={service.state} />
          </>
        )}
        empty={services.emptyText}
      />
    </Card>
  )
}
