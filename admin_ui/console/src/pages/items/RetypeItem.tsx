import { useQueryClient } from '@tanstack/react-query'
import { Field } from '../../components/Field.tsx'
import { ModalForm } from '../../components/ModalForm.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useMessages } from '../../messages/index.tsx'
import { type Item, retypeItem } from './queries.ts'

interface RetypeItemProps {
  item: Item
  workspace: string | undefined
  onClose: () => void
  /** The key that it has now. */
  onDone: (key: string) => void
}

/** Gives an item another type, and says what becomes of its key. */
export function RetypeItem({ item, workspace, onClose, onDone }: RetypeItemProps) {
  const { items } = useMessages()
  const queries = useQueryClient()
  const retype = async (data: FormData) => {
    const changed = await retypeItem(workspace, item.key, String(data.get('to_type') ?? '').trim(), item.revision)
    onDone(changed.key)
    showToast(items.retyped(item.key, changed.key))
    await queries.invalidateQueries({ queryKey: ['items'] })
  }
  return (
    <ModalForm title={items.retypeTitle(item.key)} submit={items.retype} onClose={onClose} onSubmit={retype}>
      <p>{items.retypeText(item.key)}</p>
      <Field name="to_type" label={items.newType} help={items.help.type} isRequired maxLength={64} />
    </ModalForm>
  )
}
