import { type Messages, useMessages } from '../messages/index.tsx'
import { Button } from './Button.tsx'
import styles from './SearchLine.module.css'
import type { SearchOn } from './useSearchOn.ts'

interface SearchLineProps {
  search: SearchOn
  isPending: boolean
  /** How far it is. */
  time: string
  texts: Messages['logs']['searches']['back']
}

/** How far a search of the audit log is, with what stops it or goes on. */
export function SearchLine({ search, isPending, time, texts }: SearchLineProps) {
  const { logs } = useMessages()
  // Not told aloud each second: only where it ends.
  if (search.isSearching) {
    return (
      <div className={styles.line}>
        <p>{texts.searching(time)}</p>
        <Button kind="quiet" onPress={search.stop}>
          {logs.stopSearch}
        </Button>
      </div>
    )
  }
  return (
    <div role="status" className={styles.line}>
      <p>{texts.searched(time)}</p>
      <Button kind="quiet" isPending={isPending} onPress={search.goOn}>
        {texts.goOn}
      </Button>
    </div>
  )
}
