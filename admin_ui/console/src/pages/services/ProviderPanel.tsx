import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaProviderDetailView } from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import { CodeBlock } from '../../components/CodeBlock.tsx'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { CopyField } from '../../components/CopyField.tsx'
import { DetailPanel } from '../../components/DetailPanel.tsx'
import { Actions, Facts, Section } from '../../components/Facts.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { ProblemNotice, Skeleton, useOnline } from '../../components/States.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useAction } from '../../components/useAction.ts'
import { useFormat, useMessages } from '../../messages/index.tsx'
import { JsonField } from '../../schema/JsonField.tsx'
import { isObject } from '../../schema/schema.ts'
import { providerQuery } from './queries.ts'
import type { ServicesSearch } from './route.ts'

const OF_PANEL = ['id', 'dialog'] as const
const OF_DIALOG = ['dialog'] as const

/** One provider with its document; one that the tenant has added is changed and removed here. */
export function ProviderPanel({ id, dialog }: { id: string; dialog: ServicesSearch['dialog'] }) {
  const { providers } = useMessages().services
  const format = useFormat()
  const queries = useQueryClient()
  const online = useOnline()
  const { data: provider, error, refetch } = useQuery(providerQuery(id))
  const { close, clear } = useOverlay(OF_PANEL)
  const { open, close: closeDialog } = useOverlay(OF_DIALOG)
  if (!provider)
    return (
      <DetailPanel title={providers.title} onClose={close} padded>
        {error ? <ProblemNotice error={error} onRetry={() => void refetch()} /> : <Skeleton lines={6} />}
      </DetailPanel>
    )
  const remove = async () => {
    await read(api.DELETE('/api/v1/providers/{provider_id}', { params: { path: { provider_id: id } } }))
    clear()
    showToast(providers.removed(id))
    queries.removeQueries({ queryKey: ['providers', id] })
    await queries.invalidateQueries({ queryKey: ['providers'] })
  }
  const { usage } = provider
  return (
    <>
      <DetailPanel title={provider.title} subtitle={id} onClose={close} padded>
        {provider.problem && <p lang="en">{provider.problem}</p>}
        {provider.redirect_uri && <CopyField label={providers.redirect} value={provider.redirect_uri} />}
        <Facts
          facts={[
            [providers.columns.origin, providers.origins[provider.origin]],
            [providers.columns.services, provider.modules.join(', ') || '–'],
            [providers.uses, providers.usage(format.number(usage.clients), format.number(usage.accounts))],
          ]}
        />
        {provider.version === null ? (
          <Section title={providers.document} help={providers.builtIn}>
            <CodeBlock code={JSON.stringify(provider.document, null, 2)} label={providers.document} />
          </Section>
        ) : (
          <>
            <DocumentForm key={provider.version} id={id} provider={provider} />
            <Actions>
              <Button kind="danger" isDisabled={!online} onPress={() => open({ dialog: 'remove-provider' })}>
                {providers.remove}
              </Button>
            </Actions>
          </>
        )}
      </DetailPanel>
      {dialog === 'remove-provider' && (
        <ConfirmDestroy title={providers.removeTitle(id)} confirm={providers.remove} typed={id} onConfirm={remove} onClose={closeDialog}>
          <p>{providers.removeText}</p>
        </ConfirmDestroy>
      )}
    </>
  )
}

function DocumentForm({ id, provider }: { id: string; provider: SchemaProviderDetailView }) {
  const { common, problems, services } = useMessages()
  const { providers } = services
  const queries = useQueryClient()
  const online = useOnline()
  const { busy, problem, run } = useAction()
  const [document, setDocument] = useState<unknown>(provider.document)
  const isChanged = JSON.stringify(document) !== JSON.stringify(provider.document)
  const save = () =>
    run(async () => {
      if (!isObject(document)) return
      const body = { document, version: provider.version }
      await read(api.PUT('/api/v1/providers/{provider_id}', { params: { path: { provider_id: id } }, body }))
      await queries.invalidateQueries({ queryKey: ['providers'] })
      showToast(providers.saved(id))
    })
  return (
    <Section title={providers.document} help={providers.documentHelp}>
      <JsonField label={providers.document} value={document} onChange={setDocument} isRequired />
      {problem && (
        <ProblemNotice error={problem} title={problems.actionTitle} onRetry={() => void queries.invalidateQueries({ queryKey: ['providers', id] })} />
      )}
      <Actions>
        <Button kind="primary" isPending={busy} isDisabled={!isChanged || !isObject(document) || !online} onPress={() => void save()}>
          {common.save}
        </Button>
      </Actions>
    </Section>
  )
}
