import { useQuery } from '@tanstack/react-query'
import { SelectField } from '../../../components/Field.tsx'
import { FindBox } from '../../../components/FindBox.tsx'
import { ListTools } from '../../../components/ListTools.tsx'
import { Empty, ProblemNotice, Skeleton } from '../../../components/States.tsx'
import { useMessages } from '../../../messages/index.tsx'
import { findItems, MOST_RELATED, relatedQuery } from '../queries.ts'
import { DEPTHS, itemsRoute } from '../route.ts'
import { useSetSearch } from '../useItemsSearch.ts'
import { WorkspaceField } from '../WorkspaceField.tsx'
import styles from './graph.module.css'
import { RelationGraph } from './RelationGraph.tsx'
import { RelationTable } from './RelationTable.tsx'

const USUAL_DEPTH = '2'

/** The items around one: which, how far, and the picture. */
export function GraphView() {
  const { items } = useMessages()
  const { graph } = items
  const { workspace, center, depth = USUAL_DEPTH } = itemsRoute.useSearch()
  const set = useSetSearch()
  return (
    <>
      <ListTools>
        <WorkspaceField />
        <div className={styles.find}>
          <FindBox
            label={graph.center}
            hideLabel
            resource={`items in ${workspace ?? ''}`}
            find={(words) => findItems(workspace, words)}
            onChoose={({ id }) => set({ center: id })}
          />
        </div>
        <SelectField
          label={graph.depth}
          hideLabel
          value={depth}
          choices={DEPTHS.map((value) => ({ value, label: graph.depths(Number(value)) }))}
          onChange={(value) => set({ depth: value === USUAL_DEPTH ? undefined : value })}
        />
      </ListTools>
      {center ? (
        <Relations key={center} center={center} depth={Number(depth)} />
      ) : (
        <Empty title={graph.chooseTitle} text={graph.chooseText} />
      )}
    </>
  )
}

function Relations({ center, depth }: { center: string; depth: number }) {
  const { graph } = useMessages().items
  const { workspace } = itemsRoute.useSearch()
  const { data, error, refetch } = useQuery(relatedQuery(workspace, center, depth))
  if (error) return <ProblemNotice error={error} onRetry={() => void refetch()} />
  if (!data) return <Skeleton lines={8} />
  const { total_nodes: nodes, total_edges: edges } = data.graph_stats
  const shown = data.related_items.length
  return (
    <>
      <div className={styles.title}>
        <h2 dir="auto">{graph.title(data.center_item.key)}</h2>
        <p className={styles.counts}>
          {graph.counts(nodes, edges)}
          {shown === MOST_RELATED && ` · ${graph.cut(shown)}`}
        </p>
      </div>
      {data.related_items.length === 0 && <p>{graph.alone}</p>}
      <RelationGraph related={data} />
      <RelationTable related={data} />
    </>
  )
}
