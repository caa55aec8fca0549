import type { SchemaKeysView } from '../../api/schema.d.ts'

export type KeyStep =
  | { name: 'restore' }
  | { name: 'rewrap' | 'reencrypt'; count: number; command: string }
  | { name: 'activate' | 'retire'; id: string; command: string }

/** What the operator has to do with the keys, in order. */
export function listKeySteps(view: SchemaKeysView): KeyStep[] {
  const steps: KeyStep[] = []
  if (view.keys.some((key) => key.in_use && !key.usable)) steps.push({ name: 'restore' })
  if (view.to_rewrap > 0) steps.push({ name: 'rewrap', count: view.to_rewrap, command: 'mcpist keys rewrap' })
  if (view.to_reencrypt > 0) steps.push({ name: 'reencrypt', count: view.to_reencrypt, command: 'mcpist keys reencrypt' })
  // Only what wraps nothing: a key that is retired too early takes everything under it along.
  if (view.to_rewrap > 0 || view.to_reencrypt > 0) return steps
  for (const key of view.keys) {
    if (key.active || !key.usable || key.data_keys > 0 || key.signing_keys > 0) continue
    const name = key.in_use ? 'retire' : 'activate'
    // A key service has no keys to activate: the order of MCPIST_KEYS says which provider wraps.
    if (name === 'activate' && view.key_providers.join() !== 'file') continue
    steps.push({ name, id: key.kek_id, command: `mcpist keys ${name} ${key.kek_id}` })
  }
  return steps
}
