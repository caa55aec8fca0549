import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import { readAll } from '../../api/pages.ts'
import { Problem } from '../../api/problems.ts'
import { Loaded } from '../../components/Card.tsx'
import { Field, SelectField } from '../../components/Field.tsx'
import { FindBox, type Found } from '../../components/FindBox.tsx'
import { ModalForm } from '../../components/ModalForm.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useMessages } from '../../messages/index.tsx'

/** What stands in the place of a provider for groups that are provisioned. */
const SCIM = 'scim'

const signInProvidersQuery = queryOptions({
  queryKey: ['identity-providers', 'names'],
  queryFn: () => readAll((query) => read(api.GET('/api/v1/identity-providers', { params: { query } }))),
})

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
      provider: String(data.get('provider') ?? ''),
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
      {kind === 'group' && <ProviderField />}
      <Field name="value" label={settings.kinds[kind]} help={settings.valueHelp[kind]} isRequired maxLength={320} />
      <FindBox label={settings.role} resource="roles" find={findRoles} onChoose={setRole} />
      <p role="status" dir="auto">
        {role ? settings.chosenRole(role.text) : settings.chooseRole}
      </p>
    </ModalForm>
  )
}

/** Whose group it is: a provider that people sign in at, or provisioning. */
function ProviderField() {
  const { settings } = useMessages()
  const query = useQuery(signInProvidersQuery)
  return (
    <Loaded query={query}>
      {(providers) => (
        <SelectField
          name="provider"
          label={settings.provider}
          help={settings.providerHelp}
          defaultValue={providers[0]?.id ?? SCIM}
          choices={[
            ...providers.map(({ id, label }) => ({ value: id, label: `${label} (${id})` })),
            { value: SCIM, label: settings.scim.title },
          ]}
        />
      )}
    </Loaded>
  )
}

async function findRoles(words: string): Promise<Found[]> {
  const { items } = await read(api.GET('/api/v1/roles', { params: { query: { limit: 20, ...(words && { q: words }) } } }))
  return items.map(({ id, name }) => ({ id, text: name }))
}
