import { useInfiniteQuery } from '@tanstack/react-query'
import { Button } from '../../../components/Button.tsx'
import { Actions, ItemList, Section } from '../../../components/Facts.tsx'
import { SelectField } from '../../../components/Field.tsx'
import { ProblemNotice, Skeleton } from '../../../components/States.tsx'
import { Time } from '../../../components/Time.tsx'
import { useMessages } from '../../../messages/index.tsx'
import { historyQuery } from '../queries.ts'
import { itemsRoute } from '../route.ts'
import { useSetSearch } from '../useItemsSearch.ts'
import { CompareStates } from './CompareStates.tsx'
import styles from './state.module.css'

/** The states that there were, the newest first, and what differs between two of them. */
export function StateHistory({ current }: { current: number }) {
  const { common, items } = useMessages()
  const { state } = items
  const { workspace, before, after } = itemsRoute.useSearch()
  const set = useSetSearch()
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(historyQuery(workspace))
  if (error && !data) return <ProblemNotice error={error} onRetry={() => void refetch()} />
  if (!data) return <Skeleton lines={4} />
  const states = data.pages.flatMap((page) => page.states)
  const known = [...new Set([...states.map((one) => one.revision), Number(before ?? current), Number(after ?? current)])]
  const choices = known.sort((left, right) => right - left).map((one) => ({ value: String(one), label: state.revision(one) }))
  const older = before ?? (current > 1 ? String(current - 1) : undefined)
  const newer = after ?? String(current)
  return (
    <>
      {current > 1 && (
        <Section title={state.compare} help={state.chooseTwo} level={2}>
          <div className={styles.pair}>
            <SelectField
              label={state.older}
              {...(older !== undefined && { value: older })}
              choices={choices}
              onChange={(value) => set({ before: value })}
            />
            <SelectField label={state.newer} value={newer} choices={choices} onChange={(value) => set({ after: value })} />
          </div>
          {older !== undefined && <CompareStates older={Number(older)} newer={Number(newer)} />}
        </Section>
      )}
      <Section title={state.history} level={2}>
        <ItemList
          label={state.history}
          items={states}
          itemKey={(one) => String(one.revision)}
          title={(one) => (one.revision === current ? `${state.revision(one.revision)} · ${state.current}` : state.revision(one.revision))}
          detail={(one) => (
            <>
              <Time at={one.updated_at} /> · {state.by(one.updated_by)}
            </>
          )}
          end={(one) =>
            one.revision > 1 && (
              <Button
                kind="quiet"
                aria-label={`${state.compare}: ${state.revision(one.revision)}`}
                onPress={() => set({ before: String(one.revision - 1), after: String(one.revision) })}
              >
                {state.compare}
              </Button>
            )
          }
          empty={state.none}
        />
        {error && <ProblemNotice error={error} onRetry={() => void refetch()} />}
        {hasNextPage && (
          <Actions>
            <Button isPending={isFetchingNextPage} onPress={() => void fetchNextPage()}>
              {common.loadMore}
            </Button>
          </Actions>
        )}
      </Section>
    </>
  )
}
