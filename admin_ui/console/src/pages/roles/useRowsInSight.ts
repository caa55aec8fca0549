import { defaultRangeExtractor, type Range, useVirtualizer } from '@tanstack/react-virtual'
import { type RefObject, useCallback, useLayoutEffect, useState } from 'react'

const ROW_HEIGHT = 41

/** Only the rows in sight are in the document, and the one that the Tab key stops at. */
export function useRowsInSight<Row>(
  body: RefObject<HTMLElement | null>,
  rows: readonly Row[],
  rowKey: (row: Row) => string,
  current: number,
) {
  const [place, setPlace] = useState<{ scroller: Element | null; margin: number }>({ scroller: null, margin: 0 })
  useLayoutEffect(() => {
    const scroller = findScroller(body.current)
    if (!scroller || !body.current) return
    const margin = body.current.getBoundingClientRect().top - scroller.getBoundingClientRect().top + scroller.scrollTop
    setPlace((before) => (before.scroller === scroller && before.margin === margin ? before : { scroller, margin }))
  }, [body, rows])
  const keepCurrent = useCallback(
    (range: Range) => {
      const seen = defaultRangeExtractor(range)
      return current >= range.count || seen.includes(current) ? seen : [...seen, current].sort((left, right) => left - right)
    },
    [current],
  )
  // eslint-disable-next-line react-hooks/incompatible-library -- the matrix takes what is in sight anew at each drawing
  return useVirtualizer({
    count: rows.length,
    getScrollElement: () => place.scroller,
    estimateSize: () => ROW_HEIGHT,
    overscan: 10,
    scrollMargin: place.margin,
    getItemKey: (index) => rowKey(rows[index]!),
    rangeExtractor: keepCurrent,
    initialRect: { width: 0, height: 800 },
  })
}

/** What the rows scroll in: the panel. */
function findScroller(element: Element | null): Element | null {
  for (let found = element?.parentElement; found; found = found.parentElement) {
    if (/auto|scroll/.test(getComputedStyle(found).overflowY)) return found
  }
  return document.scrollingElement
}
