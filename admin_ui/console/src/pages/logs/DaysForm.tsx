import { Field } from '../../components/Field.tsx'
import { ModalForm } from '../../components/ModalForm.tsx'
import { useMessages } from '../../messages/index.tsx'
import type { LogFilters } from './filters.ts'

interface DaysFormProps {
  filters: LogFilters
  onSet: (change: object) => void
  onClose: () => void
}

/** The first and the last day of the log that is shown, in the person's time zone. */
export function DaysForm({ filters, onSet, onClose }: DaysFormProps) {
  const { logs } = useMessages()
  const choose = async (data: FormData) => {
    const pick = (name: string) => String(data.get(name) ?? '') || undefined
    onSet({ from: pick('from'), to: pick('to'), since: undefined, dialog: undefined })
  }
  return (
    <ModalForm title={logs.days} submit={logs.showDays} onClose={onClose} onSubmit={choose}>
      <Field label={logs.firstDay} name="from" type="date" defaultValue={filters.from ?? ''} />
      <Field label={logs.lastDay} name="to" type="date" defaultValue={filters.to ?? ''} />
    </ModalForm>
  )
}
