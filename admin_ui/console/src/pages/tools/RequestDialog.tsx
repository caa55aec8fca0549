import { useQueryClient } from '@tanstack/react-query'
import { api, read } from '../../api/client.ts'
import { Field } from '../../components/Field.tsx'
import { ModalForm } from '../../components/ModalForm.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useMessages } from '../../messages/index.tsx'
import { splitToolName } from './route.ts'

/** Asks the administrators for a tool. */
export function RequestDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const { tools } = useMessages()
  const queries = useQueryClient()
  const send = async (data: FormData) => {
    const [module, tool] = splitToolName(name)
    await read(api.POST('/api/v1/access-requests', { body: { module, tool, message: String(data.get('message') ?? '') } }))
    await queries.invalidateQueries({ queryKey: ['access-requests'] })
    showToast(tools.requestSent)
    onClose()
  }
  return (
    <ModalForm title={tools.requestTitle(name)} submit={tools.requestSubmit} onClose={onClose} onSubmit={send}>
      <p>{tools.requestHelp}</p>
      <Field label={tools.requestReason} help={tools.requestReasonHelp} name="message" long maxLength={500} autoFocus />
    </ModalForm>
  )
}
