import { useQuery, useQueryClient } from '@tanstack/react-query'
import { ArrowDown, ArrowUp, GripVertical } from 'lucide-react'
import { useState } from 'react'
import { Button as DragHandle, GridList, GridListItem, useDragAndDrop } from 'react-aria-components'
import type { SchemaRoleView } from '../../api/schema.d.ts'
import { IconButton } from '../../components/Button.tsx'
import { Empty, ProblemNotice, Skeleton, useOnline } from '../../components/States.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useAction } from '../../components/useAction.ts'
import { useFormat, useMessages } from '../../messages/index.tsx'
import { computePriorities, move, type PriorityChange } from './priorities.ts'
import { orderedRolesQuery } from './queries.ts'
import styles from './RoleOrder.module.css'
import { savePriorities } from './savePriorities.ts'

/** The roles by priority: moved by dragging, by keyboard or by buttons. */
export function RoleOrder() {
  const { roles } = useMessages()
  const { data, error, refetch } = useQuery(orderedRolesQuery)
  if (error) return <ProblemNotice error={error} onRetry={() => void refetch()} />
  if (!data) return <Skeleton lines={8} />
  if (data.items.length === 0) return <Empty title={roles.emptyTitle} text={roles.emptyText} />
  return (
    <>
      <p>{roles.order.help}</p>
      {data.next_cursor && <p>{roles.order.more(data.items.length)}</p>}
      <Order stored={data.items} />
    </>
  )
}

function Order({ stored }: { stored: SchemaRoleView[] }) {
  const { problems, roles } = useMessages()
  const format = useFormat()
  const queries = useQueryClient()
  const online = useOnline()
  const { busy, problem, run } = useAction()
  // What was moved is shown at its new place until the answer is there.
  const [moved, setMoved] = useState<SchemaRoleView[] | null>(null)
  const shown = moved ?? stored
  const save = async (changes: readonly PriorityChange[]) => {
    await savePriorities(queries, changes)
    await queries.invalidateQueries({ queryKey: ['roles'] })
  }
  const place = (from: number, to: number) => {
    const order = move(shown, from, to)
    const changes = computePriorities(order, to)
    if (changes.length === 0 || busy || !online) return
    setMoved(order)
    void run(async () => {
      try {
        await save(changes)
        showToast(roles.order.moved(order[to]!.name), () => save(reverse(changes)))
      } finally {
        await queries.invalidateQueries({ queryKey: ['roles'] })
        setMoved(null)
      }
    })
  }
  const { dragAndDropHooks } = useDragAndDrop<SchemaRoleView>({
    getItems: (_, items) => items.map((role) => ({ 'text/plain': role.name })),
    isDisabled: busy || !online,
    onReorder: ({ keys, target }) => {
      const from = shown.findIndex(({ id }) => keys.has(id))
      const beside = shown.findIndex(({ id }) => id === target.key) + (target.dropPosition === 'after' ? 1 : 0)
      place(from, beside > from ? beside - 1 : beside)
    },
  })
  return (
    <>
      {problem && (
        <ProblemNotice error={problem} title={problems.actionTitle} onRetry={() => void queries.invalidateQueries({ queryKey: ['roles'] })} />
      )}
      <GridList
        aria-label={roles.order.label}
        className={styles.list!}
        items={shown}
        dependencies={[shown, busy, online, roles]}
        dragAndDropHooks={dragAndDropHooks}
      >
        {(role) => {
          const index = shown.indexOf(role)
          return (
            <GridListItem textValue={role.name} className={styles.row!}>
              <DragHandle slot="drag" className={styles.handle!} aria-label={roles.order.drag(role.name)}>
                <GripVertical size={16} aria-hidden />
              </DragHandle>
              <span className={styles.name} dir="auto">
                {role.name}
              </span>
              <span className={styles.priority}>{format.number(role.priority)}</span>
              <IconButton
                icon={ArrowUp}
                label={roles.order.up(role.name)}
                isDisabled={index === 0 || busy || !online}
                onPress={() => place(index, index - 1)}
              />
              <IconButton
                icon={ArrowDown}
                label={roles.order.down(role.name)}
                isDisabled={index === shown.length - 1 || busy || !online}
                onPress={() => place(index, index + 1)}
              />
            </GridListItem>
          )
        }}
      </GridList>
    </>
  )
}

/** What takes the changes back: from the bottom up. */
function reverse(changes: readonly PriorityChange[]): PriorityChange[] {
  return [...changes].reverse().map(({ id, from, to }) => ({ id, from: to, to: from }))
}
