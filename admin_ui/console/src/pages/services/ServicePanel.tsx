import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api, read } from '../../api/client.ts'
import type { SchemaTenantServiceDetails } from '../../api/schema.d.ts'
import { expect, sendMerging, type Versioned } from '../../api/versions.ts'
import { Button } from '../../components/Button.tsx'
import { findConnectMethod, isConnectable } from '../../components/connectMethods.ts'
import { DetailPanel, PanelTabs } from '../../components/DetailPanel.tsx'
import { Actions, Facts } from '../../components/Facts.tsx'
import { Localized, useLocalized } from '../../components/Localized.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { SetUpLink } from '../../components/SetUpLink.tsx'
import { ProblemNotice, Skeleton, useOnline } from '../../components/States.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useAction } from '../../components/useAction.ts'
import { useConnectSetup } from '../../components/useConnectSetup.ts'
import { useMessages } from '../../messages/index.tsx'
import { OAuthTab } from './OAuthTab.tsx'
import { serviceQuery } from './queries.ts'
import type { ServicesSearch } from './route.ts'
import { ServiceSettings } from './ServiceSettings.tsx'
import { AccountState, ServiceState } from './ServicesPage.tsx'

const OF_PANEL = ['id', 'tab', 'dialog', 'role', 'client'] as const

/** One service of the tenant. */
export function ServicePanel({ module, search }: { module: string; search: ServicesSearch }) {
  const { services } = useMessages()
  const { data: service, error, refetch } = useQuery(serviceQuery(module))
  const { close, replace } = useOverlay(OF_PANEL)
  const localized = useLocalized()
  if (!service)
    return (
      <DetailPanel title={services.title} onClose={close} padded>
        {error ? <ProblemNotice error={error} onRetry={() => void refetch()} /> : <Skeleton lines={6} />}
      </DetailPanel>
    )
  const title = localized({ en: service.title, ja: service.title_ja })
  return (
    <DetailPanel title={title} subtitle={service.module} onClose={close}>
      <PanelTabs
        label={title}
        selected={search.tab ?? 'general'}
        onSelect={(tab) => replace({ tab })}
        tabs={[
          { key: 'general', label: services.tabs.general, content: () => <ServiceGeneral service={service} /> },
          { key: 'settings', label: services.tabs.settings, content: () => <ServiceSettings service={service} /> },
          ...(service.has_vendor
            ? [{ key: 'oauth' as const, label: services.tabs.oauth, content: () => <OAuthTab service={service} search={search} /> }]
            : []),
        ]}
      />
    </DetailPanel>
  )
}

function ServiceGeneral({ service }: { service: Versioned<SchemaTenantServiceDetails> }) {
  const { problems, services } = useMessages()
  const queries = useQueryClient()
  const online = useOnline()
  const { busy, problem, run } = useAction()
  const { module } = service
  const title = useLocalized()({ en: service.title, ja: service.title_ja })
  const setEnabled = async (enabled: boolean) => {
    // Only the switch is sent, so whatever else somebody has changed meanwhile stays.
    await sendMerging(service.etag, (etag) =>
      read(api.PATCH('/api/v1/services/{module}', { params: { path: { module }, header: expect(etag) }, body: { enabled } })),
    )
    await Promise.all(
      ['services', 'service-tools', 'tools', 'tool-modules'].map((key) => queries.invalidateQueries({ queryKey: [key] })),
    )
  }
  const change = (enabled: boolean) =>
    run(async () => {
      await setEnabled(enabled)
      showToast(enabled ? services.switchedOn(title) : services.switchedOff(title), () => setEnabled(!enabled))
    })
  return (
    <>
      <p>
        <Localized text={{ en: service.description, ja: service.description_ja }} />
      </p>
      <Facts
        facts={[
          [services.columns.state, <ServiceState key="state" service={service} />],
          [services.columns.tools, services.toolCount(service.tool_count)],
          [services.columns.accounts, <Accounts key="accounts" service={service} />],
        ]}
      />
      <p>{service.enabled ? services.onText : services.offText}</p>
      {problem && <ProblemNotice error={problem} title={problems.actionTitle} />}
      {service.installed && (
        <Actions>
          <Button
            kind={service.enabled ? 'plain' : 'primary'}
            isPending={busy}
            isDisabled={!online}
            onPress={() => void change(!service.enabled)}
          >
            {service.enabled ? services.switchOff : services.switchOn}
          </Button>
          <Link to="/roles">{services.giveTools}</Link>
        </Actions>
      )}
    </>
  )
}

/** How accounts of the service are connected, and the way to what is missing. */
function Accounts({ service }: { service: SchemaTenantServiceDetails }) {
  const { connections } = useMessages()
  const { data } = useConnectSetup()
  const title = useLocalized()({ en: service.title, ja: service.title_ja })
  const method = data && service.has_vendor ? findConnectMethod(service.module, data) : null
  return (
    <>
      <AccountState service={service} /> {method && connections.methods[method]}{' '}
      {method && !isConnectable(method) && <SetUpLink module={service.module} title={title} state={method} />}
    </>
  )
}
