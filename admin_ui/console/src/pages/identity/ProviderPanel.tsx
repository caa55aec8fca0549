import { useQuery, useQueryClient } from '@tanstack/react-query'
import { api, read } from '../../api/client.ts'
import type { SchemaIdentityProviderView } from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { CopyField } from '../../components/CopyField.tsx'
import { DetailPanel } from '../../components/DetailPanel.tsx'
import { Actions, Facts } from '../../components/Facts.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { ProblemNotice, Skeleton, useOnline } from '../../components/States.tsx'
import { Time } from '../../components/Time.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useMessages } from '../../messages/index.tsx'
import styles from './identity.module.css'
import { ProviderForm } from './ProviderForm.tsx'
import { ProviderState } from './ProviderList.tsx'
import { identityProviderQuery } from './queries.ts'

const OF_PANEL = ['id', 'from', 'dialog'] as const
const OF_DIALOG = ['dialog'] as const

/** A provider that an operator has stored. */
export function StoredProvider({ id, asks }: { id: string; asks: boolean }) {
  const { identity } = useMessages()
  const queries = useQueryClient()
  const online = useOnline()
  const { data: provider, error, refetch } = useQuery(identityProviderQuery(id))
  const { close, clear } = useOverlay(OF_PANEL)
  const { open, close: closeDialog } = useOverlay(OF_DIALOG)
  if (!provider)
    return (
      <DetailPanel title={identity.title} onClose={close} padded>
        {error ? <ProblemNotice error={error} onRetry={() => void refetch()} /> : <Skeleton lines={6} />}
      </DetailPanel>
    )
  const remove = async () => {
    const params = { path: { identity_provider_id: id } }
    await read(api.DELETE('/api/v1/deployment/identity-providers/{identity_provider_id}', { params }))
    clear()
    showToast(identity.removed(id))
    queries.removeQueries({ queryKey: ['identity-providers', id] })
    await queries.invalidateQueries({ queryKey: ['identity-providers'] })
  }
  return (
    <>
      <DetailPanel title={provider.label} subtitle={id} onClose={close} padded>
        <ProviderFacts provider={provider} />
        {provider.in_use ? <ProviderForm key={id} provider={provider} onSaved={() => undefined} /> : <p>{identity.hiddenText}</p>}
        <Actions>
          <Button kind="danger" isDisabled={!online} onPress={() => open({ dialog: 'remove' })}>
            {identity.remove}
          </Button>
        </Actions>
      </DetailPanel>
      {asks && (
        <ConfirmDestroy title={identity.removeTitle(id)} confirm={identity.remove} typed={id} onConfirm={remove} onClose={closeDialog}>
          <p>{identity.removeText}</p>
        </ConfirmDestroy>
      )}
    </>
  )
}

/** A provider of identity.toml, which only the file changes. */
export function ProviderOfFile({ provider }: { provider: SchemaIdentityProviderView }) {
  const { identity } = useMessages()
  const { fields } = identity
  const { close } = useOverlay(OF_PANEL)
  const names = ['issuer', 'tenant', 'base_url', 'api_url', 'client_id', 'groups_claim'] as const
  return (
    <DetailPanel title={provider.label} subtitle={provider.id} onClose={close} padded>
      <p>{identity.ofFile}</p>
      <ProviderFacts provider={provider} />
      <Facts facts={names.filter((name) => provider[name] !== '').map((name) => [fields[name], provider[name]])} />
    </DetailPanel>
  )
}

function ProviderFacts({ provider }: { provider: SchemaIdentityProviderView }) {
  const { identity, trials, versions } = useMessages()
  const { columns } = identity
  return (
    <>
      <Facts
        facts={[
          [columns.kind, identity.kinds[provider.kind]],
          [columns.source, trials.sources[provider.source]],
          [columns.state, <ProviderState key="state" provider={provider} />],
          ...(provider.updated_at ? [[versions.changedAt, <Time key="changed" at={provider.updated_at} />] as const] : []),
        ]}
      />
      <CopyField label={identity.redirect} value={provider.redirect_uri} />
      <p className={styles.help}>{identity.redirectHelp}</p>
    </>
  )
}
