import { Link } from '@tanstack/react-router'
import { useSelectedInSight } from './useSelectedInSight.ts'
import styles from './ViewLinks.module.css'

interface ViewLinksProps<View extends string> {
  label: string
  /** The first one is the page without `view`. */
  views: readonly { view: View; label: string }[]
  selected: View
  /** What of the address is the same in all of them. */
  kept?: readonly string[]
}

/** Several lists on one page, each at an address of its own (`?view=`). */
export function ViewLinks<View extends string>({ label, views, selected, kept = [] }: ViewLinksProps<View>) {
  const list = useSelectedInSight<HTMLElement>('[aria-current=page]', selected)
  return (
    <nav ref={list} aria-label={label} className={styles.views}>
      {views.map(({ view, label: text }, index) => (
        <Link
          key={view}
          to="."
          search={(before) => ({ ...clear(before, kept), ...(index > 0 && { view: view as never }) })}
          className={styles.view}
          aria-current={view === selected ? 'page' : undefined}
          // Else the router calls the first one active as well, whatever `view` is.
          activeOptions={{ exact: true, includeSearch: true }}
        >
          {text}
        </Link>
      ))}
    </nav>
  )
}

/** Filters and panels of one list are not those of another. */
function clear<Search extends object>(search: Search, kept: readonly string[]): Search {
  return Object.fromEntries(Object.entries(search).map(([name, value]) => [name, kept.includes(name) ? value : undefined])) as Search
}
