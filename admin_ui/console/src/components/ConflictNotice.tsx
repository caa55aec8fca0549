import { TriangleAlert } from 'lucide-react'
import { useFormat, useMessages } from '../messages/index.tsx'
import { Button } from './Button.tsx'
import styles from './ConflictNotice.module.css'
import { Actions } from './Facts.tsx'
import { useOnline } from './States.tsx'
import type { VersionedForm } from './useVersionedForm.ts'

interface ConflictNoticeProps<Values> {
  form: VersionedForm<Values>
  /** Name of a field for people. */
  label: (name: keyof Values & string) => string
  /** A value for people, where it is not its own text. */
  show?: (name: keyof Values & string, value: unknown) => string
  /** Who it was, where nobody's name is known; another administrator without it. */
  somebody?: string
}

/** Somebody else has changed what is edited here: both versions, and the choice between them. */
export function ConflictNotice<Values>({ form, label, show = (_, value) => writeValue(value), ...props }: ConflictNoticeProps<Values>) {
  const { versions } = useMessages()
  const { somebody = versions.somebody } = props
  const format = useFormat()
  const online = useOnline()
  const { conflict } = form
  if (!conflict) return null
  const when = conflict.changedAt ? format.relative(conflict.changedAt) : ''
  return (
    <div role="alert" className={styles.notice}>
      <p className={styles.title}>
        <TriangleAlert size={16} aria-hidden /> {versions.title}
      </p>
      <p dir="auto">{versions.by(conflict.changedBy || somebody, when)}</p>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">{versions.field}</th>
            <th scope="col">{versions.theirs}</th>
            <th scope="col">{versions.mine}</th>
          </tr>
        </thead>
        <tbody>
          {conflict.differences.map(({ name, theirs, mine, clashes }) => (
            <tr key={name}>
              <th scope="row">{label(name as keyof Values & string)}</th>
              <td dir="auto">{show(name as keyof Values & string, theirs)}</td>
              <td dir="auto">{clashes ? show(name as keyof Values & string, mine) : versions.kept}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <Actions>
        <Button onPress={() => void form.takeTheirs()} isDisabled={!online}>
          {versions.take}
        </Button>
        <Button onPress={() => void form.applyMine()} isPending={form.busy} isDisabled={!online}>
          {versions.apply}
        </Button>
      </Actions>
    </div>
  )
}

function writeValue(value: unknown): string {
  if (value === undefined || value === null || value === '') return '–'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
