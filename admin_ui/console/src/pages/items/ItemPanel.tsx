import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Pencil, Shapes, Trash2, Waypoints } from 'lucide-react'
import { Button } from '../../components/Button.tsx'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { DetailPanel } from '../../components/DetailPanel.tsx'
import { Actions, Facts } from '../../components/Facts.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { ProblemNotice, Skeleton, useOnline } from '../../components/States.tsx'
import { ExactTime } from '../../components/Time.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useFormat, useMessages } from '../../messages/index.tsx'
import { EditItem } from './ItemForm.tsx'
import { ItemLinks } from './ItemLinks.tsx'
import styles from './items.module.css'
import { PriorityMark } from './PriorityMark.tsx'
import { deleteItem, type Item, itemQuery } from './queries.ts'
import { RetypeItem } from './RetypeItem.tsx'
import { itemsRoute } from './route.ts'
import { useSetSearch } from './useItemsSearch.ts'
import { useCanWrite } from './WorkspaceField.tsx'

const PANEL = ['id', 'dialog'] as const
const DIALOG = ['dialog'] as const

/** An item with its text as it is stored, and what can be done with it. */
export function ItemPanel({ itemKey }: { itemKey: string }) {
  const { items } = useMessages()
  const { workspace, dialog } = itemsRoute.useSearch()
  const panel = useOverlay(PANEL)
  const inner = useOverlay(DIALOG)
  const queries = useQueryClient()
  const { data, error, refetch } = useQuery(itemQuery(workspace, itemKey))
  const remove = async () => {
    await deleteItem(workspace, data!.key, data!.revision)
    panel.clear()
    queries.removeQueries({ queryKey: ['items', 'one', workspace, itemKey] })
    showToast(items.removed(itemKey))
    await queries.invalidateQueries({ queryKey: ['items'] })
  }
  return (
    <DetailPanel title={data?.title ?? itemKey} subtitle={data?.key ?? itemKey} onClose={panel.close} padded>
      {data ? (
        <>
          <ItemActions itemKey={data.key} onOpen={(name) => inner.open({ dialog: name })} />
          <ItemFacts item={data} />
          {dialog === 'edit' && <EditItem item={data} workspace={workspace} onClose={inner.close} />}
          {dialog === 'retype' && (
            <RetypeItem
              item={data}
              workspace={workspace}
              onClose={inner.close}
              onDone={(key) => inner.replace({ id: key, dialog: undefined })}
            />
          )}
          {dialog === 'remove' && (
            <ConfirmDestroy
              title={items.removeTitle(data.key)}
              confirm={items.remove}
              typed={data.key}
              onConfirm={remove}
              onClose={inner.close}
            >
              <p>{items.removeText}</p>
            </ConfirmDestroy>
          )}
        </>
      ) : error ? (
        <ProblemNotice error={error} onRetry={() => void refetch()} />
      ) : (
        <Skeleton lines={8} />
      )}
    </DetailPanel>
  )
}

function ItemActions({ itemKey, onOpen }: { itemKey: string; onOpen: (dialog: 'edit' | 'remove' | 'retype') => void }) {
  const { items } = useMessages()
  const set = useSetSearch()
  const online = useOnline()
  const canWrite = useCanWrite()
  return (
    <>
      <Actions>
        <Button icon={Waypoints} onPress={() => set({ view: 'graph', center: itemKey, id: undefined })}>
          {items.showGraph}
        </Button>
        {canWrite && (
          <>
            <Button icon={Pencil} onPress={() => onOpen('edit')} isDisabled={!online}>
              {items.edit}
            </Button>
            <Button icon={Shapes} onPress={() => onOpen('retype')} isDisabled={!online}>
              {items.retype}
            </Button>
            <Button kind="danger" icon={Trash2} onPress={() => onOpen('remove')} isDisabled={!online}>
              {items.remove}
            </Button>
          </>
        )}
      </Actions>
      {!canWrite && <p className={styles.muted}>{items.readOnly}</p>}
    </>
  )
}

function ItemFacts({ item }: { item: Item }) {
  const { common, items } = useMessages()
  const { fields } = items
  const format = useFormat()
  const optional = (['category', 'start_date', 'end_date', 'version'] as const).flatMap((name) =>
    item[name] ? [[fields[name], item[name]] as const] : [],
  )
  return (
    <>
      {item.description && <p dir="auto">{item.description}</p>}
      <Facts
        facts={[
          [fields.type, item.type],
          [fields.status, item.status],
          [fields.priority, <PriorityMark key="priority" priority={item.priority} />],
          ...optional,
          [fields.tags, item.tags.join(', ') || common.none],
          [fields.related, <ItemLinks key="related" keys={item.related} />],
          [fields.updated, <ExactTime key="updated" at={item.updated_at} />],
          ...(item.updated_by ? [[fields.updatedBy, item.updated_by] as const] : []),
          [fields.created, <ExactTime key="created" at={item.created_at} />],
          [fields.revision, format.number(item.revision)],
        ]}
      />
      {item.content ? (
        <pre className={styles.text} dir="auto" tabIndex={0} role="region" aria-label={fields.content}>
          {item.content}
        </pre>
      ) : (
        <p className={styles.muted}>{items.noContent}</p>
      )}
    </>
  )
}
