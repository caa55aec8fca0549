import { useQuery } from '@tanstack/react-query'
import { ExternalLink } from 'lucide-react'
import { useState } from 'react'
import type { SchemaOAuthClientView, SchemaProviderView, SchemaTenantServiceDetails } from '../../api/schema.d.ts'
import { CopyField } from '../../components/CopyField.tsx'
import { Section } from '../../components/Facts.tsx'
import { SelectField } from '../../components/Field.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { ProblemNotice, Skeleton } from '../../components/States.tsx'
import { useMessages } from '../../messages/index.tsx'
import { OAuthClientForm } from './OAuthClientForm.tsx'
import { OAuthClientList } from './OAuthClientList.tsx'
import { oauthProvidersQuery, roleNamesQuery, serviceClientsQuery } from './queries.ts'
import { RemoveOAuthClient } from './RemoveOAuthClient.tsx'
import type { ServicesSearch } from './route.ts'
import styles from './services.module.css'

const OF_DIALOG = ['dialog', 'client'] as const
const EVERYBODY = 'everybody'

interface OAuthTabProps {
  service: SchemaTenantServiceDetails
  search: ServicesSearch
}

/** How accounts of a service are connected: for each provider the steps at the vendor, and our client there. */
export function OAuthTab({ service, search }: OAuthTabProps) {
  const { services } = useMessages()
  const providers = useQuery(oauthProvidersQuery(service.module))
  const hasProviders = (providers.data?.length ?? 0) > 0
  const clients = useQuery({ ...serviceClientsQuery(service.module), enabled: hasProviders })
  const { close } = useOverlay(OF_DIALOG)
  const error = providers.error ?? clients.error
  if (error) return <ProblemNotice error={error} onRetry={() => void (providers.error ? providers : clients).refetch()} />
  if (!providers.data) return <Skeleton lines={6} />
  if (!hasProviders) return <p>{services.oauth.none}</p>
  if (!clients.data) return <Skeleton lines={6} />
  const items = clients.data
  const removed = search.dialog === 'remove-client' && items.find((client) => client.id === search.client)
  return (
    <>
      {providers.data.map((provider) => (
        <ProviderSteps
          key={provider.id}
          module={service.module}
          provider={provider}
          role={search.role}
          clients={items.filter((client) => client.provider === provider.id)}
        />
      ))}
      {removed && (
        <RemoveOAuthClient
          client={removed}
          title={providers.data.find((provider) => provider.id === removed.provider)?.title ?? removed.provider}
          onClose={close}
        />
      )}
    </>
  )
}

interface ProviderStepsProps {
  module: string
  provider: SchemaProviderView
  role: string | undefined
  clients: SchemaOAuthClientView[]
}

function ProviderSteps({ module, provider, role, clients }: ProviderStepsProps) {
  const { oauth, steps } = useMessages().services
  const [owner, setOwner] = useState(role ?? EVERYBODY)
  const own = clients.find((client) => (client.role_id ?? EVERYBODY) === owner)
  const list = steps[provider.id] ?? steps.other ?? []
  return (
    <Section title={provider.title}>
      {provider.client_registration !== '' && <p>{oauth.introduces}</p>}
      {provider.redirect_uri && <CopyField label={oauth.redirect} value={provider.redirect_uri} />}
      <p className={styles.help}>{oauth.redirectHelp}</p>
      <h4 className={styles.heading}>{oauth.steps}</h4>
      <ol className={styles.steps}>
        {list.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
      <p className={styles.links}>
        <VendorLink url={provider.console_url} text={oauth.openConsole(provider.title)} />
        <VendorLink url={provider.docs_url} text={oauth.openDocs} />
      </p>
      <OwnerField value={owner} onChange={setOwner} />
      <OAuthClientForm
        key={`${owner} ${own?.id}`}
        module={module}
        provider={provider}
        roleId={owner === EVERYBODY ? null : owner}
        clientId={own?.id}
      />
      {clients.length > 0 && <OAuthClientList clients={clients} />}
    </Section>
  )
}

/** Whose client the form is about: the whole tenant's, or that of a role, for whose people it counts more. */
function OwnerField({ value, onChange }: { value: string; onChange: (owner: string) => void }) {
  const { oauth } = useMessages().services
  const { data: roles = [] } = useQuery(roleNamesQuery)
  return (
    <SelectField
      label={oauth.owner}
      help={oauth.ownerHelp}
      value={value}
      choices={[
        { value: EVERYBODY, label: oauth.everybody },
        ...roles.map((role) => ({ value: role.id, label: oauth.ofRole(role.name) })),
      ]}
      onChange={onChange}
    />
  )
}

/** A page of the vendor; only `https:`, since an administrator may have written the address. */
function VendorLink({ url, text }: { url: string | null; text: string }) {
  if (!url?.startsWith('https://')) return null
  return (
    <a href={url} target="_blank" rel="noreferrer">
      {text} <ExternalLink size={14} aria-hidden />
    </a>
  )
}
