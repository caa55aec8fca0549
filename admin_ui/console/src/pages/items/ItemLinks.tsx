import { Link } from '@tanstack/react-router'
import { useMessages } from '../../messages/index.tsx'
import styles from './items.module.css'

/** Items by their keys, each a link to its panel. */
export function ItemLinks({ keys }: { keys: readonly string[] }) {
  const { common } = useMessages()
  if (keys.length === 0) return <>{common.none}</>
  return (
    <span className={styles.links}>
      {keys.map((key) => (
        <Link key={key} from="/items" to="." search={(before) => ({ ...before, id: key, dialog: undefined })} dir="auto">
          {key}
        </Link>
      ))}
    </span>
  )
}
