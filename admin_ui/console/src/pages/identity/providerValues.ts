import type { SchemaIdentityProviderUpsert, SchemaIdentityProviderView } from '../../api/schema.d.ts'

export type ProviderKind = SchemaIdentityProviderView['kind']
export const KINDS: readonly ProviderKind[] = ['oidc', 'google', 'microsoft', 'github']

/** What may be read of a provider and is changed in its form. */
export type ProviderValues = Pick<
  SchemaIdentityProviderView,
  'kind' | 'label' | 'client_id' | 'issuer' | 'tenant' | 'base_url' | 'api_url' | 'groups_claim'
>

export const NO_VALUES: ProviderValues = {
  kind: 'oidc',
  label: '',
  client_id: '',
  issuer: '',
  tenant: '',
  base_url: '',
  api_url: '',
  groups_claim: '',
}

type Address = 'issuer' | 'tenant' | 'base_url' | 'api_url'

const OF_KIND: Readonly<Record<ProviderKind, readonly (Address | 'groups_claim')[]>> = {
  oidc: ['issuer', 'groups_claim'],
  google: [],
  microsoft: ['tenant', 'base_url', 'groups_claim'],
  github: ['base_url', 'api_url'],
}

/** Whether the form of this kind asks for the field. */
export function hasField(kind: ProviderKind, name: Address | 'groups_claim'): boolean {
  return OF_KIND[kind].includes(name)
}

export function isRequired(kind: ProviderKind, name: Address): boolean {
  return (kind === 'oidc' && name === 'issuer') || (kind === 'microsoft' && name === 'tenant')
}

export function pickValues(provider: ProviderValues): ProviderValues {
  const { kind, label, client_id, issuer, tenant, base_url, api_url, groups_claim } = provider
  return { kind, label, client_id, issuer, tenant, base_url, api_url, groups_claim }
}

/** The stored secret is sent nowhere else: it is asked for again when one of these changes. */
export function goesElsewhere(before: ProviderValues, after: ProviderValues): boolean {
  const names = ['kind', 'client_id', 'issuer', 'tenant', 'base_url', 'api_url'] as const
  return names.some((name) => before[name] !== after[name])
}

/** What is sent: nothing that the kind does not have, as what was typed before another kind was chosen. */
export function buildBody(values: ProviderValues, secret: string): Omit<SchemaIdentityProviderUpsert, 'despite_failures'> {
  const { kind } = values
  const keep = (name: Address | 'groups_claim') => (hasField(kind, name) ? values[name].trim() : '')
  return {
    kind,
    label: values.label.trim(),
    client_id: values.client_id.trim(),
    client_secret: secret === '' ? null : secret,
    issuer: keep('issuer'),
    tenant: keep('tenant'),
    base_url: keep('base_url'),
    api_url: keep('api_url'),
    groups_claim: keep('groups_claim'),
  }
}
