import type { ReactNode } from 'react'
import styles from './Facts.module.css'

/** Names and values of one thing. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className={styles.facts}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd dir="auto">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

export interface ItemListProps<Item> {
  label: string
  items: readonly Item[]
  itemKey: (item: Item) => string
  /** First line, under it the second, and buttons or a badge at the end. */
  title: (item: Item) => ReactNode
  detail?: (item: Item) => ReactNode
  end?: (item: Item) => ReactNode
  empty: string
}

/** A short list inside a panel; a long one is a DataTable. */
export function ItemList<Item>({ label, items, itemKey, title, detail, end, empty }: ItemListProps<Item>) {
  if (items.length === 0) return <p className={styles.empty}>{empty}</p>
  return (
    <ul aria-label={label} className={styles.items}>
      {items.map((item) => (
        <li key={itemKey(item)}>
          <div className={styles.text}>
            <p className={styles.title} dir="auto">
              {title(item)}
            </p>
            {detail && (
              <p className={styles.detail} dir="auto">
                {detail(item)}
              </p>
            )}
          </div>
          {end && <div className={styles.end}>{end(item)}</div>}
        </li>
      ))}
    </ul>
  )
}

interface SectionProps {
  title: string
  help?: string
  /** Under the name of a panel, unless it is a part of the page itself. */
  level?: 2 | 3
  children: ReactNode
}

/** A part of a panel or a page with its heading. */
export function Section({ title, help, level = 3, children }: SectionProps) {
  return (
    <section className={styles.section}>
      {level === 2 ? <h2>{title}</h2> : <h3>{title}</h3>}
      {help && <p className={styles.help}>{help}</p>}
      {children}
    </section>
  )
}

/** Short facts, one below the other. */
export function BulletList({ items }: { items: readonly string[] }) {
  return (
    <ul className={styles.bullets}>
      {items.map((item) => (
        <li key={item}>{item}</li>
      ))}
    </ul>
  )
}

/** Buttons in a row. */
export function Actions({ children }: { children: ReactNode }) {
  return <div className={styles.actions}>{children}</div>
}
