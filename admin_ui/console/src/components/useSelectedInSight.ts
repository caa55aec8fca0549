import { useEffect, useRef } from 'react'

/** For a row of tabs that scrolls sideways on narrow screens: brings the one that fits `selector` into sight. */
export function useSelectedInSight<Row extends HTMLElement>(selector: string, selected: string) {
  const row = useRef<Row>(null)
  useEffect(() => {
    row.current?.querySelector(selector)?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [selector, selected])
  return row
}
