import { useMessages } from '../messages/index.tsx'
import { Button } from './Button.tsx'
import { Actions, ItemList, type ItemListProps } from './Facts.tsx'
import { ProblemNotice, Skeleton } from './States.tsx'
import type { PagedList } from './usePagedList.ts'

type PagedItemsProps<Item> = Omit<ItemListProps<Item>, 'items'> & { list: PagedList<Item> }

/** A list of a card or a panel that the API gives page by page, with a button for the next one. */
export function PagedItems<Item>({ list, ...props }: PagedItemsProps<Item>) {
  const { common } = useMessages()
  if (list.isLoading) return <Skeleton lines={2} />
  return (
    <>
      {(list.error === null || list.rows.length > 0) && <ItemList {...props} items={list.rows} />}
      {list.error !== null && <ProblemNotice error={list.error} onRetry={list.retry} />}
      {list.hasMore && (
        <Actions>
          <Button isPending={list.isLoadingMore} onPress={list.loadMore}>
            {common.loadMore}
          </Button>
        </Actions>
      )}
    </>
  )
}
