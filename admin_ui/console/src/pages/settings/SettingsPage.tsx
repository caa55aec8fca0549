import { PageHead } from '../../components/ListTools.tsx'
import { ViewLinks } from '../../components/ViewLinks.tsx'
import { useMessages } from '../../messages/index.tsx'
import { CompanySettings } from './CompanySettings.tsx'
import { LogCollector } from './LogCollector.tsx'
import { Notices } from './Notices.tsx'
import { RoleMappings } from './RoleMappings.tsx'
import { settingsRoute, VIEWS } from './route.ts'
import { ScimTokens } from './ScimTokens.tsx'
import { TenantKeys } from './TenantKeys.tsx'

/** What an identity provider tells of people: which roles they get, and who they are. */
function Groups() {
  return (
    <>
      <RoleMappings />
      <ScimTokens />
    </>
  )
}

const CONTENT = { company: CompanySettings, notices: Notices, mappings: Groups, keys: TenantKeys, collector: LogCollector } as const

/** What counts for the whole company. */
export function SettingsPage() {
  const { settings } = useMessages()
  const { view = 'company' } = settingsRoute.useSearch()
  const Content = CONTENT[view]
  return (
    <>
      <PageHead title={settings.title} />
      <ViewLinks label={settings.title} views={VIEWS.map((one) => ({ view: one, label: settings.views[one] }))} selected={view} />
      <Content />
    </>
  )
}
