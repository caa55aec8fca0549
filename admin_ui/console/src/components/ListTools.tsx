import { Search, X } from 'lucide-react'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Button, Input, Label, SearchField } from 'react-aria-components'
import { useShortcut } from '../app/shortcuts.tsx'
import { useMessages } from '../messages/index.tsx'
import styles from './ListTools.module.css'

const PAUSE_MS = 200

interface PageHeadProps {
  title: string
  /** The one main button of the page. */
  children?: ReactNode
}

/** Head of a page. */
export function PageHead({ title, children }: PageHeadProps) {
  return (
    <div className={styles.head}>
      <h1 tabIndex={-1}>{title}</h1>
      {children}
    </div>
  )
}

interface SearchBoxProps {
  label: string
  value: string | undefined
  /** Called after a pause in typing; the caller writes it into the address with `replace`. */
  onSearch: (text: string) => void
}

/** The search of the page, which `/` focuses. */
export function SearchBox({ label, value, onSearch }: SearchBoxProps) {
  const { shell, common } = useMessages()
  const input = useRef<HTMLInputElement>(null)
  const [text, setText] = useState(value ?? '')
  const [seen, setSeen] = useState(value)
  if (seen !== value) {
    setSeen(value) // Back, or "Clear all": the address leads
    if ((value ?? '') !== text.trim()) setText(value ?? '')
  }
  useEffect(() => {
    if (text.trim() === (value ?? '')) return
    const timer = setTimeout(() => onSearch(text.trim()), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text, value, onSearch])
  useShortcut('/', shell.keys.search, () => input.current?.focus())
  return (
    <SearchField value={text} onChange={setText} className={styles.search!} maxLength={200}>
      <Label className="visually-hidden">{label}</Label>
      <Search size={16} aria-hidden />
      <Input ref={input} placeholder={label} className={styles.input!} />
      <Button className={styles.clear!} aria-label={common.clearSearch}>
        <X size={16} aria-hidden />
      </Button>
    </SearchField>
  )
}

export interface Pill {
  label: string
  onRemove: () => void
}

/** The filters that are set; each is removed by its ×. */
export function FilterPills({ pills, onClear }: { pills: readonly Pill[]; onClear: () => void }) {
  const { common } = useMessages()
  if (pills.length === 0) return null
  return (
    <div className={styles.pills}>
      {pills.map((pill) => (
        <button
          key={pill.label}
          type="button"
          className={styles.pill}
          aria-label={common.removeFilter(pill.label)}
          onClick={pill.onRemove}
        >
          {pill.label}
          <X size={14} aria-hidden />
        </button>
      ))}
      {pills.length > 1 && (
        <button type="button" className={styles.all} onClick={onClear}>
          {common.clearAll}
        </button>
      )}
    </div>
  )
}

/** One line: search, filters, sort. */
export function ListTools({ children }: { children: ReactNode }) {
  return <div className={styles.tools}>{children}</div>
}
