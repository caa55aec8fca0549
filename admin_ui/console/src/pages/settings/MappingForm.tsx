import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import { Problem } from '../../api/problems.ts'
import { Field, SelectField } from '../../components/Field.tsx'
import { FindBox, type Found } from '../../components/FindBox.tsx'
import { ModalForm } from '../../components/ModalForm.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useMessages } from '../../messages/index.tsx'

/** Maps a group or a domain to a role. */
export function MappingForm({ onClose }: { onClose: () => void }) {
  const { common, settings } = useMessages()
  const queries = useQueryClient()
  const [kind, setKind] = useState<'group' | 'domain'>('group')
  const [role, setRole] = useState<Found | null>(null)
  const add = async (data: FormData) => {
    if (!role) throw new Problem(400, { code: 'role_missing', detail: settings.chooseRole })
    const body = {
      kind,
      provider: kind === 'group' ? String(data.get('provider') ?? '').trim() : '',
      value: String(data.get('value') ?? '').trim(),
      role_id: role.id,
    }
    await read(api.POST('/api/v1/role-mappings', { body }))
    await queries.invalidateQueries({ queryKey: ['role-mappings'] })
    showToast(common.saved)
    onClose()
  }
  return (
    <ModalForm title={settings.addMapping} submit={common.save} onClose={onClose} onSubmit={add}>
      <SelectField
        label={settings.kind}
        value={kind}
        onChange={setKind}
        choices={(['group', 'domain'] as const).map((value) => ({ value, label: settings.kinds[value] }))}
      />
      {kind === 'group' && (
        <Field name="provider" label={settings.provider} help={settings.providerHelp} isRequired maxLength={40} />
      )}
      <Field name="value" label={settings.kinds[kind]} help={settings.valueHelp[kind]} isRequired maxLength={320} />
      <FindBox label={settings.role} resource="roles" find={findRoles} onChoose={setRole} />
      <p role="status" dir="auto">
        {role ? settings.chosenRole(role.text) : settings.chooseRole}
      </p>
    </ModalForm>
  )
}

async function findRoles(words: string): Promise<Found[]> {
  const { items } = await read(api.GET('/api/v1/roles', { params: { query: { limit: 20, ...(words && { q: words }) } } }))
  return items.map(({ id, name }) => ({ id, text: name }))
}
