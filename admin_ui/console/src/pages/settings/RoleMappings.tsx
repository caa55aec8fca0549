import { useQueryClient } from '@tanstack/react-query'
import { Trash2 } from 'lucide-react'
import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaRoleMappingView } from '../../api/schema.d.ts'
import { useShortcut } from '../../app/shortcuts.tsx'
import { Button, IconButton } from '../../components/Button.tsx'
import { Card } from '../../components/Card.tsx'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { ItemTools } from '../../components/ItemTools.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { PagedItems } from '../../components/PagedItems.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useItemSearch } from '../../components/useItemSearch.ts'
import { usePagedList } from '../../components/usePagedList.ts'
import { useMessages } from '../../messages/index.tsx'
import { MappingForm } from './MappingForm.tsx'
import { settingsRoute } from './route.ts'

type MappingOrder = 'created_at' | '-created_at' | 'value' | 'role'

const DIALOG = ['dialog'] as const

/** The roles that people have by a group of their identity provider or by their address's domain. */
export function RoleMappings() {
  const { common, settings } = useMessages()
  const queries = useQueryClient()
  const { dialog } = settingsRoute.useSearch()
  const { open, close } = useOverlay(DIALOG)
  const [asked, setAsked] = useState<SchemaRoleMappingView | null>(null)
  const search = useItemSearch<MappingOrder>('created_at')
  const list = usePagedList(['role-mappings', 'list', search.query], (cursor) =>
    read(api.GET('/api/v1/role-mappings', { params: { query: { ...search.query, limit: 100, ...(cursor && { cursor }) } } })),
  )
  const add = () => open({ dialog: 'add' })
  useShortcut('n', settings.addMapping, add)
  const remove = async (mapping: SchemaRoleMappingView) => {
    await read(api.DELETE('/api/v1/role-mappings/{mapping_id}', { params: { path: { mapping_id: mapping.id } } }))
    const refresh = () => queries.invalidateQueries({ queryKey: ['role-mappings'] })
    await refresh()
    const { kind, provider, value, role_id } = mapping
    showToast(settings.mappingRemoved(value), async () => {
      await read(api.POST('/api/v1/role-mappings', { body: { kind, provider, value, role_id } }))
      await refresh()
    })
    setAsked(null)
  }
  const action = <Button onPress={add}>{settings.addMapping}</Button>
  return (
    <Card title={settings.views.mappings} help={settings.mappingsHelp} action={action}>
      <ItemTools
        label={settings.searchMappings}
        search={search}
        list={list}
        orders={[
          ['created_at', common.orders.oldest],
          ['-created_at', common.orders.newest],
          ['value', settings.mappingOrders.value],
          ['role', settings.mappingOrders.role],
        ]}
      />
      <PagedItems
        label={settings.views.mappings}
        list={list}
        itemKey={(mapping) => mapping.id}
        title={(mapping) => settings.gives(mapping.value, mapping.role)}
        detail={(mapping) => (mapping.kind === 'group' ? settings.groupOf(mapping.provider) : settings.domain)}
        end={(mapping) => (
          <IconButton icon={Trash2} label={settings.removeMapping(mapping.value, mapping.role)} onPress={() => setAsked(mapping)} />
        )}
        empty={search.words ? common.nothingMatches(search.words) : settings.noMappings}
      />
      {dialog === 'add' && <MappingForm onClose={close} />}
      {asked && (
        <ConfirmDestroy
          title={settings.removeMappingTitle(asked.value, asked.role)}
          confirm={common.remove}
          typed={null}
          onConfirm={() => remove(asked)}
          onClose={() => setAsked(null)}
        >
          <p>{settings.removeMappingText}</p>
        </ConfirmDestroy>
      )}
    </Card>
  )
}
