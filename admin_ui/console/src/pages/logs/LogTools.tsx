import { useCallback } from 'react'
import { findPeople } from '../../api/people.ts'
import { SelectField } from '../../components/Field.tsx'
import { FindBox } from '../../components/FindBox.tsx'
import { ListTools, SearchBox } from '../../components/ListTools.tsx'
import { useMessages } from '../../messages/index.tsx'
import type { LogFilters } from './filters.ts'
import styles from './logs.module.css'
import { KINDS, OUTCOMES, SPANS } from './route.ts'

interface LogToolsProps {
  filters: LogFilters
  onSet: (change: object) => void
  onDays: () => void
}

/** The filters, which the server applies. */
export function LogTools({ filters, onSet, onDays }: LogToolsProps) {
  const { logs } = useMessages()
  const search = useCallback((text: string) => onSet({ tool: text || undefined }), [onSet])
  const time = filters.from || filters.to ? 'days' : (filters.since ?? 'any')
  const pickTime = (value: string) => {
    if (value === 'days') return onDays()
    onSet({ since: value === 'any' ? undefined : value, from: undefined, to: undefined })
  }
  return (
    <ListTools>
      <SearchBox label={logs.toolSearch} value={filters.tool} onSearch={search} />
      <SelectField
        label={logs.columns.time}
        hideLabel
        value={time}
        choices={[
          { value: 'any', label: logs.anyTime },
          ...SPANS.map((value) => ({ value, label: logs.spans[value] })),
          { value: 'days', label: logs.days },
        ]}
        onChange={pickTime}
      />
      <SelectField
        label={logs.columns.outcome}
        hideLabel
        value={filters.outcome ?? 'any'}
        choices={[{ value: 'any', label: logs.anyOutcome }, ...OUTCOMES.map((value) => ({ value, label: logs.outcomes[value] }))]}
        onChange={(value) => onSet({ outcome: value === 'any' ? undefined : value })}
      />
      <SelectField
        label={logs.kind}
        hideLabel
        value={filters.kind ?? 'any'}
        choices={[{ value: 'any', label: logs.anyKind }, ...KINDS.map((value) => ({ value, label: logs.kinds[value] }))]}
        onChange={(value) => onSet({ kind: value === 'any' ? undefined : value })}
      />
      <div className={styles.person}>
        <FindBox label={logs.person} hideLabel resource="users" find={findPeople} onChoose={({ id }) => onSet({ user: id })} />
      </div>
    </ListTools>
  )
}
