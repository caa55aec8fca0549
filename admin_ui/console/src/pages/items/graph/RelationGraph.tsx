import { Link } from '@tanstack/react-router'
import { Maximize, ZoomIn, ZoomOut } from 'lucide-react'
import { type KeyboardEvent, useId, useMemo, useRef, useState } from 'react'
import { IconButton } from '../../../components/Button.tsx'
import { useFormat, useMessages } from '../../../messages/index.tsx'
import type { ListedItem, RelatedItems } from '../queries.ts'
import styles from './graph.module.css'
import { buildNeighbors, drawEdge, findNext, layOut, listTypes, NODE_HEIGHT, NODE_WIDTH } from './layout.ts'
import { LARGEST, SMALLEST, usePicture } from './usePicture.ts'

/** As many as graph.module.css has. */
const COLORS = 8

/**
 * The items around one as a picture. One of them can be reached by Tab; arrows go on from it, along the relations. What
 * is pointed at or has the focus stands out with its neighbors.
 */
export function RelationGraph({ related }: { related: RelatedItems }) {
  const { graph } = useMessages().items
  const format = useFormat()
  const hint = useId()
  const { items, layout, neighbors, edges, types } = useMemo(() => prepare(related), [related])
  const center = related.center_item.key
  const [current, setCurrent] = useState(center)
  const [pointed, setPointed] = useState<string | null>(null)
  const [hasFocus, setHasFocus] = useState(false)
  const stage = useRef<HTMLDivElement>(null)
  const { frame, scale, zoom, fit, handlers } = usePicture(layout)
  const reachable = layout.places.has(current) ? current : center
  const marked = pointed ?? (hasFocus ? reachable : null)
  const near = useMemo(() => new Set(marked === null ? [] : [marked, ...(neighbors.get(marked) ?? [])]), [marked, neighbors])
  const move = (event: KeyboardEvent<HTMLElement>) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const larger = { '+': 1, '=': 1, '-': -1, '−': -1 }[event.key]
    const next = findNext(layout, neighbors, reachable, event.key)
    if (!larger && next === null && event.key !== '0' && !event.key.startsWith('Arrow')) return
    event.preventDefault()
    if (larger) zoom(larger)
    if (event.key === '0') fit()
    if (next !== null) stage.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(next)}"]`)?.focus()
  }
  const told = items.get(marked ?? center)!
  return (
    <figure className={styles.figure}>
      <figcaption className={styles.head}>
        <ul className={styles.legend} aria-label={graph.legend}>
          {types.map(({ type, count, color }) => (
            <li key={type} data-color={color} dir="auto">
              {graph.ofType(type, count)}
            </li>
          ))}
        </ul>
        <div className={styles.tools}>
          <span className={styles.scale}>{format.percent(scale)}</span>
          <IconButton icon={ZoomOut} label={graph.zoomOut} onPress={() => zoom(-1)} isDisabled={scale <= SMALLEST} />
          <IconButton icon={ZoomIn} label={graph.zoomIn} onPress={() => zoom(1)} isDisabled={scale >= LARGEST} />
          <IconButton icon={Maximize} label={graph.fit} onPress={fit} />
        </div>
      </figcaption>
      <div ref={frame} className={styles.frame} {...handlers}>
        <div className={styles.sheet} style={{ width: layout.width * scale, height: layout.height * scale }}>
          <div
            ref={stage}
            role="group"
            aria-label={graph.title(center)}
            aria-describedby={hint}
            className={styles.stage}
            style={{ width: layout.width, height: layout.height, transform: `scale(${scale})` }}
            data-marked={marked !== null || undefined}
            onKeyDown={move}
            onFocus={() => setHasFocus(true)}
            onBlur={() => setHasFocus(false)}
          >
            <svg width={layout.width} height={layout.height} aria-hidden className={styles.lines}>
              {edges.map(({ one, other, path }) => (
                <path key={`${one} ${other}`} d={path} data-near={marked !== null && (one === marked || other === marked)} />
              ))}
            </svg>
            {[...items.values()].map((item) => (
              <Node
                key={item.key}
                item={item}
                place={layout.places.get(item.key)!}
                color={types.find(({ type }) => type === item.type)!.color}
                isCenter={item.key === center}
                isReachable={item.key === reachable}
                isNear={near.has(item.key)}
                relations={neighbors.get(item.key)?.length ?? 0}
                onFocus={setCurrent}
                onPoint={setPointed}
              />
            ))}
          </div>
        </div>
      </div>
      <p className={styles.told} aria-hidden dir="auto">
        {graph.node(told.key, told.title, told.status)}
      </p>
      <p id={hint} className={styles.hint}>
        {graph.keys}
      </p>
    </figure>
  )
}

interface NodeProps {
  item: ListedItem & { distance: number }
  place: { x: number; y: number }
  color: number
  isCenter: boolean
  isReachable: boolean
  isNear: boolean
  relations: number
  onFocus: (key: string) => void
  onPoint: (key: string | null) => void
}

function Node({ item, place, color, isCenter, isReachable, isNear, relations, onFocus, onPoint }: NodeProps) {
  const { graph } = useMessages().items
  const away = isCenter ? graph.middle : graph.away(item.distance)
  return (
    <Link
      from="/items"
      to="."
      search={(before) => ({ ...before, id: item.key })}
      state={{ opened: true }}
      preload={false}
      draggable={false}
      className={styles.node}
      style={{ left: place.x, top: place.y, width: NODE_WIDTH, height: NODE_HEIGHT }}
      tabIndex={isReachable ? 0 : -1}
      data-key={item.key}
      data-color={color}
      data-center={isCenter || undefined}
      data-near={isNear || undefined}
      onFocus={() => onFocus(item.key)}
      onPointerEnter={() => onPoint(item.key)}
      onPointerLeave={() => onPoint(null)}
    >
      <span className={styles.key} dir="auto">
        {item.key}
      </span>{' '}
      <span className={styles.name} dir="auto">
        {item.title}
      </span>
      <span className="visually-hidden">{[item.status, away, graph.relations(relations)].join(', ')}</span>
    </Link>
  )
}

function prepare({ center_item, related_items, edges }: RelatedItems) {
  const all = [{ ...center_item, distance: 0 }, ...related_items.map(({ item, distance }) => ({ ...item, distance }))]
  const items = new Map(all.map((item) => [item.key, item]))
  const shown = edges.filter(([one, other]) => one !== other && items.has(one) && items.has(other))
  const layout = layOut(all, shown)
  const drawn = new Map(shown.map(([one, other]) => [[one, other].sort().join(' '), [one, other] as const]))
  return {
    items,
    layout,
    neighbors: buildNeighbors(shown),
    edges: [...drawn.values()].map(([one, other]) => ({
      one,
      other,
      path: drawEdge(layout.places.get(one)!, layout.places.get(other)!),
    })),
    types: listTypes(
      all.map(({ type }) => type),
      COLORS,
    ),
  }
}
