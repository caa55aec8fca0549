import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import type {
  SchemaDisconnectionView,
  SchemaRoleView,
  SchemaTenantServiceView,
  SchemaVendorCredentialView,
} from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { startConnecting } from '../../components/connecting.ts'
import { type ConnectSetup, findConnectMethod, isConnectable } from '../../components/connectMethods.ts'
import { ConnectionBadge } from '../../components/ConnectionBadge.tsx'
import { ItemList, Section } from '../../components/Facts.tsx'
import { useLocalized } from '../../components/Localized.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { SetupBadge } from '../../components/SetupBadge.tsx'
import { SetUpLink } from '../../components/SetUpLink.tsx'
import { ProblemNotice, Skeleton, useOnline } from '../../components/States.tsx'
import { StillOpen } from '../../components/StillOpen.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useAction } from '../../components/useAction.ts'
import { useConnectSetup } from '../../components/useConnectSetup.ts'
import { useFormat, useMessages } from '../../messages/index.tsx'
import { roleCredentialsQuery } from './queries.ts'
import type { RolesSearch } from './route.ts'

const OF_DIALOG = ['dialog', 'service'] as const

interface RoleAccountsProps {
  role: SchemaRoleView
  search: RolesSearch
}

/** The accounts that a role shares, and its own OAuth clients, by service. */
export function RoleAccounts({ role, search }: RoleAccountsProps) {
  const setup = useConnectSetup()
  const credentials = useQuery(roleCredentialsQuery(role.id))
  const failed = [setup, credentials].find((query) => query.error)
  if (failed) return <ProblemNotice error={failed.error} onRetry={() => void failed.refetch()} />
  if (!setup.data || !credentials.data) return <Skeleton lines={6} />
  return <Accounts role={role} search={search} setup={setup.data} credentials={credentials.data} />
}

interface AccountsProps extends RoleAccountsProps {
  setup: ConnectSetup
  credentials: SchemaVendorCredentialView[]
}

function Accounts({ role, search, setup, credentials }: AccountsProps) {
  const { problems, roles } = useMessages()
  const { accounts } = roles
  const online = useOnline()
  const { open, close } = useOverlay(OF_DIALOG)
  const { busy, problem, run } = useAction()
  const [refused, setRefused] = useState('')
  const credentialOf = (module: string) => credentials.find((one) => one.module === module)
  const services = useVendorServices(setup)
  const clientOf = (module: string) => {
    const providers = setup.providers.filter((one) => one.modules.includes(module)).map((one) => one.id)
    return setup.clients.find((client) => client.role_id === role.id && providers.includes(client.provider))
  }
  const connect = ({ module, title }: SchemaTenantServiceView) =>
    run(async () => {
      const returnPath = `/console/roles?id=${role.id}&tab=accounts`
      const reconnect = credentialOf(module) !== undefined
      const failed = await startConnecting({ services: [module], roleId: role.id, reconnect, returnPath })
      setRefused(failed.length > 0 ? title : '')
    })
  const ended = search.dialog === 'disconnect' ? services.find(({ module }) => module === search.service) : undefined
  return (
    <Section title={roles.tabs.accounts} help={accounts.help}>
      {problem && <ProblemNotice error={problem} title={problems.actionTitle} />}
      {refused && <p role="alert">{accounts.failed(refused)}</p>}
      <ItemList
        label={roles.tabs.accounts}
        items={services}
        itemKey={(service) => service.module}
        title={(service) => service.title}
        detail={(service) => {
          const client = clientOf(service.module)
          const account = credentialOf(service.module)?.account ?? accounts.none
          return `${account} · ${client ? accounts.clientOwn(client.client_id) : accounts.clientCommon}`
        }}
        end={(service) => {
          const { module, title } = service
          const credential = credentialOf(module)
          const method = findConnectMethod(module, setup, role.id)
          const ready = isConnectable(method)
          return (
            <>
              {credential && <ConnectionBadge state={credential.state} />}
              {!ready && !credential && <SetupBadge state={method ?? 'needs_client'} />}
              {ready ? (
                <Link to="/services" search={{ id: module, tab: 'oauth', role: role.id }} aria-label={accounts.clientLabel(title)}>
                  {accounts.clientOpen}
                </Link>
              ) : (
                <SetUpLink module={module} title={title} state={method ?? 'needs_client'} />
              )}
              {ready && (
                <Button
                  aria-label={credential ? accounts.againLabel(title) : accounts.connectLabel(title)}
                  isPending={busy}
                  isDisabled={!online}
                  onPress={() => void connect(service)}
                >
                  {credential ? accounts.again : accounts.connect}
                </Button>
              )}
              {credential && (
                <Button
                  kind="danger"
                  aria-label={accounts.disconnectLabel(title)}
                  isDisabled={!online}
                  onPress={() => open({ dialog: 'disconnect', service: module })}
                >
                  {roles.accounts.disconnect}
                </Button>
              )}
            </>
          )
        }}
        empty={accounts.empty}
      />
      {ended && (
        <Disconnect role={role} title={ended.title} credential={credentialOf(ended.module)} all={credentials} onClose={close} />
      )}
    </Section>
  )
}

/** The services that are on and need an account at a vendor, by their titles. */
function useVendorServices({ services }: ConnectSetup) {
  const localized = useLocalized()
  const shown = services.filter((service) => service.enabled && service.installed && service.has_vendor)
  return shown.map((service) => ({ ...service, title: localized({ en: service.title, ja: service.title_ja }) }))
}

interface DisconnectProps {
  role: SchemaRoleView
  title: string
  credential: SchemaVendorCredentialView | undefined
  /** All that the role shares: services of one account lose it together. */
  all: readonly SchemaVendorCredentialView[]
  onClose: () => void
}

/** Ends the account that a role shares; afterwards, whether the vendor knows. */
function Disconnect({ role, title, credential, all, onClose }: DisconnectProps) {
  const { roles, tools } = useMessages()
  const { accounts } = roles
  const format = useFormat()
  const queries = useQueryClient()
  const [left, setLeft] = useState<SchemaDisconnectionView | null>(null)
  if (left) return <StillOpen title={title} left={left} onClose={onClose} />
  if (!credential) return null
  const { provider, account, id } = credential
  const others = all.filter((one) => provider !== '' && one.id !== id && one.provider === provider && one.account === account)
  const disconnect = async () => {
    const params = { path: { credential_id: credential.id } }
    const ended = await read(api.DELETE('/api/v1/credentials/{credential_id}', { params }))
    if (ended.revoked) {
      showToast(tools.disconnected(title))
      onClose()
    } else setLeft(ended)
    await Promise.all(['credentials', 'connections', 'tool-modules'].map((name) => queries.invalidateQueries({ queryKey: [name] })))
  }
  return (
    <ConfirmDestroy
      title={accounts.disconnectTitle(title, credential.account)}
      confirm={accounts.disconnect}
      typed={credential.account || title}
      onConfirm={disconnect}
      onClose={onClose}
    >
      <p>{accounts.disconnectText(role.members)}</p>
      {others.length > 0 && <p>{tools.disconnectOthers(format.list(others.map((one) => one.module)))}</p>}
      <p>{credential.type === 'oauth' ? tools.disconnectRevokes : tools.disconnectKey}</p>
    </ConfirmDestroy>
  )
}
