import { useMemo } from 'react'
import { useMessages } from '../../../messages/index.tsx'
import { ItemLinks } from '../ItemLinks.tsx'
import type { RelatedItems } from '../queries.ts'
import styles from './graph.module.css'
import { buildNeighbors, compareKeys } from './layout.ts'

/** What the picture shows, as a table. */
export function RelationTable({ related }: { related: RelatedItems }) {
  const { graph, fields } = useMessages().items
  const { center_item: center, related_items, edges } = related
  const rows = useMemo(() => {
    const neighbors = buildNeighbors(edges)
    return [{ item: center, distance: 0 }, ...related_items]
      .map((one) => ({ ...one, related: neighbors.get(one.item.key) ?? [] }))
      .sort((left, right) => left.distance - right.distance || compareKeys(left.item.key, right.item.key))
  }, [center, related_items, edges])
  return (
    <details className={styles.details}>
      <summary>{graph.asTable}</summary>
      <div className={styles.scroll} tabIndex={0} role="region" aria-label={graph.asTable}>
        <table className={styles.table}>
          <thead>
            <tr>
              {[fields.key, fields.title, fields.status, graph.distance, graph.relatedTo].map((head) => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ item, distance, related: keys }) => (
              <tr key={item.key}>
                <th scope="row">
                  <ItemLinks keys={[item.key]} />
                </th>
                <td dir="auto">{item.title}</td>
                <td dir="auto">{item.status}</td>
                <td>{distance}</td>
                <td dir="auto">{keys.join(', ')}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  )
}
