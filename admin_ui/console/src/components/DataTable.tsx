import { Link } from '@tanstack/react-router'
import { defaultRangeExtractor, type Range, useWindowVirtualizer } from '@tanstack/react-virtual'
import { ArrowDown, ArrowUp } from 'lucide-react'
import { type KeyboardEvent, memo, type MouseEvent, type ReactNode, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'
import type { Sort } from '../app/search.ts'
import { useShortcut } from '../app/shortcuts.tsx'
import { useMessages } from '../messages/index.tsx'
import styles from './DataTable.module.css'
import { ProblemNotice, Skeleton } from './States.tsx'
import type { PagedList } from './usePagedList.ts'

export interface Column<Row, Key extends string = string> {
  id: string
  header: string
  /** Width as of CSS grid: `2fr`, `minmax(8rem, 1fr)`. */
  width: string
  cell: (row: Row) => ReactNode
  /** The API can sort by it. */
  sort?: Key
  /**
   * Cards of narrow screens show the first column and those marked here: `labelled` with its header, as a number needs,
   * `line` below the others.
   */
  narrow?: boolean | 'labelled' | 'line'
}

interface DataTableProps<Row, Key extends string> {
  label: string
  /** The same array as long as nothing about it changes: rows are drawn anew otherwise. The first column names the row. */
  columns: readonly Column<Row, Key>[]
  list: PagedList<Row>
  rowKey: (row: Row) => string
  /** Search parameters that open the row's panel. */
  rowSearch: (row: Row) => Record<string, string>
  sort?: Sort<Key> | undefined
  onSort?: (sort: Sort<Key>) => void
  /** In the place of no rows. */
  empty: ReactNode
}

const ROW_HEIGHT = 41
const OVERSCAN = 8
const LOAD_AHEAD = 15

/** A list that the server pages, sorts and filters; only the rows in sight are in the document. */
export function DataTable<Row, Key extends string>(props: DataTableProps<Row, Key>) {
  const { list, empty } = props
  if (list.isLoading) return <Skeleton lines={8} />
  if (list.error && list.rows.length === 0) return <ProblemNotice error={list.error} onRetry={list.retry} />
  if (list.rows.length === 0) return empty
  return <Rows {...props} />
}

function Rows<Row, Key extends string>(props: DataTableProps<Row, Key>) {
  const { label, columns, list, rowKey, rowSearch, sort, onSort } = props
  const { rows } = list
  const messages = useMessages()
  const body = useRef<HTMLDivElement>(null)
  const [focused, setFocused] = useState(-1)
  const goal = useRef(-1)
  const [margin, setMargin] = useState(0)
  useEffect(() => setMargin(body.current?.offsetTop ?? 0), [])
  const keepFocused = useCallback(
    (range: Range) => {
      const seen = defaultRangeExtractor(range)
      return focused < 0 || focused >= range.count || seen.includes(focused)
        ? seen
        : [...seen, focused].sort((left, right) => left - right)
    },
    [focused],
  )
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ROW_HEIGHT,
    overscan: OVERSCAN,
    scrollMargin: margin,
    getItemKey: (index) => rowKey(rows[index]!),
    rangeExtractor: keepFocused,
  })
  const items = virtual.getVirtualItems()
  const last = items.at(-1)?.index ?? 0
  const { hasMore, loadMore } = list
  useEffect(() => {
    if (hasMore && last >= rows.length - LOAD_AHEAD) loadMore()
  })
  const focusRow = (index: number) => {
    if (index < 0 || index >= rows.length) return
    goal.current = index
    setFocused(index)
    virtual.scrollToIndex(index, { align: 'auto' })
  }
  // In the same commit as the row: a focus that came later could land after that of the next key.
  useLayoutEffect(() => {
    const link = goal.current < 0 ? null : body.current?.querySelector<HTMLElement>(`[data-index="${goal.current}"] a`)
    if (!link) return
    goal.current = -1
    link.focus()
  })
  useShortcut('j', messages.shell.keys.nextRow, () => focusRow(focused + 1))
  useShortcut('k', messages.shell.keys.previousRow, () => focusRow(Math.max(0, focused - 1)))
  const moveByArrow = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (!step || !(event.target instanceof HTMLAnchorElement)) return
    event.preventDefault()
    focusRow(focused + step)
  }
  return (
    <>
      <div
        role="table"
        aria-label={label}
        aria-rowcount={list.hasMore ? -1 : rows.length + 1}
        aria-colcount={columns.length}
        aria-busy={list.isStale}
        className={styles.table}
        data-columns={columns.length}
        style={{ ['--columns' as string]: columns.map((column) => column.width).join(' ') }}
      >
        <div role="rowgroup" className={styles.head}>
          <div role="row" aria-rowindex={1} className={styles.row}>
            {columns.map((column, place) => (
              <ColumnHead key={column.id} column={column} place={place} sort={sort} onSort={onSort} />
            ))}
          </div>
        </div>
        <div
          role="rowgroup"
          ref={body}
          className={styles.body}
          style={{ height: virtual.getTotalSize() }}
          onKeyDown={moveByArrow}
          onFocus={(event) => setFocused(readIndex(event.target))}
        >
          {items.map((item) => (
            <TableRow
              key={item.key}
              row={rows[item.index]!}
              index={item.index}
              isLast={item.index === rows.length - 1}
              top={item.start - margin}
              columns={columns as readonly Column<Row>[]}
              rowSearch={rowSearch}
              measure={virtual.measureElement}
            />
          ))}
        </div>
      </div>
      {list.error !== null && <ProblemNotice error={list.error} onRetry={list.retry} />}
      <p role="status" className={styles.foot}>
        {list.isLoadingMore ? messages.common.loadingMore : messages.common.rows(1, rows.length, list.hasMore)}
      </p>
    </>
  )
}

function readIndex(target: EventTarget): number {
  const row = target instanceof Element ? target.closest<HTMLElement>('[data-index]') : null
  return row ? Number(row.dataset.index) : -1
}

interface ColumnHeadProps<Row, Key extends string> {
  column: Column<Row, Key>
  place: number
  sort: Sort<Key> | undefined
  onSort: ((sort: Sort<Key>) => void) | undefined
}

function ColumnHead<Row, Key extends string>({ column, place, sort, onSort }: ColumnHeadProps<Row, Key>) {
  const { common } = useMessages()
  const { sort: key } = column
  if (!key || !onSort)
    return (
      <div role="columnheader" aria-colindex={place + 1}>
        {column.header}
      </div>
    )
  const sorted = sort?.key === key
  const descending = sorted && sort.descending
  return (
    <div
      role="columnheader"
      aria-colindex={place + 1}
      aria-sort={sorted ? (descending ? 'descending' : 'ascending') : 'none'}
    >
      <button type="button" className={styles.sort} onClick={() => onSort({ key, descending: sorted && !descending })}>
        {column.header}
        {sorted &&
          (descending ? (
            <ArrowDown size={14} aria-label={common.sortedDown} />
          ) : (
            <ArrowUp size={14} aria-label={common.sortedUp} />
          ))}
      </button>
    </div>
  )
}

interface TableRowProps<Row> {
  row: Row
  index: number
  isLast: boolean
  top: number
  columns: readonly Column<Row>[]
  rowSearch: (row: Row) => Record<string, string>
  measure: (element: Element | null) => void
}

const TableRow = memo(TableRowOf) as typeof TableRowOf

function TableRowOf<Row>({ row, index, isLast, top, columns, rowSearch, measure }: TableRowProps<Row>) {
  const search = rowSearch(row)
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      data-index={index}
      data-last={isLast}
      ref={measure}
      className={styles.row}
      style={{ transform: `translateY(${top}px)` }}
      onClick={openByClick}
    >
      {columns.map((column, place) => (
        <div
          role="cell"
          key={column.id}
          aria-colindex={place + 1}
          className={styles.cell}
          data-narrow={place === 0 || (column.narrow ?? false)}
          dir="auto"
        >
          {column.narrow === 'labelled' && (
            <span aria-hidden className={styles.label}>
              {column.header}
            </span>
          )}
          {place === 0 ? (
            <Link to="." search={(before: object) => ({ ...before, ...search })} state={{ opened: true }} className={styles.link}>
              {column.cell(row)}
            </Link>
          ) : (
            column.cell(row)
          )}
        </div>
      ))}
    </div>
  )
}

/** The whole row opens its link, but what stands in it works by itself, and text can be selected. */
function openByClick(event: MouseEvent<HTMLElement>): void {
  if (event.target instanceof Element && event.target.closest('a, button, input, label')) return
  if (getSelection()?.toString()) return
  event.currentTarget.querySelector('a')?.click()
}
