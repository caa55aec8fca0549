import type { SchemaConnectionCountView, SchemaServiceFiguresView } from '../../../api/schema.d.ts'

export interface ServiceRow {
  module: string
  calls: number
  errors: number
  denied: number
  /** Accounts by how they stand. */
  working: number
  failing: number
  missing: number
}

type Standing = 'working' | 'failing' | 'missing'

const STANDINGS: Record<SchemaConnectionCountView['state'], Standing> = {
  connected: 'working',
  refreshing: 'working',
  needs_connect: 'missing',
  disabled: 'missing',
  needs_reconnect: 'failing',
  service_misconfigured: 'failing',
  refused: 'failing',
  vendor_down: 'failing',
}

/** How many accounts do not work, for whatever reason. */
export function countFailing(counts: readonly Pick<SchemaConnectionCountView, 'state' | 'count'>[]): number {
  return counts.reduce((sum, { state, count }) => sum + (STANDINGS[state] === 'failing' ? count : 0), 0)
}

/** A row for each service that has calls or accounts; what fails comes first, then what is used most. */
export function countByService(
  accounts: readonly SchemaConnectionCountView[],
  figures: readonly Pick<SchemaServiceFiguresView, 'module' | 'calls' | 'errors' | 'denied'>[],
): ServiceRow[] {
  const rows = new Map<string, ServiceRow>()
  const at = (module: string) => {
    const row = rows.get(module) ?? { module, calls: 0, errors: 0, denied: 0, working: 0, failing: 0, missing: 0 }
    rows.set(module, row)
    return row
  }
  for (const { module, calls, errors, denied } of figures) {
    if (module) Object.assign(at(module), { calls, errors, denied }) // without a name: made up by clients
  }
  for (const { module, state, count } of accounts) at(module)[STANDINGS[state]] += count
  return [...rows.values()].sort((left, right) => right.failing - left.failing || right.calls - left.calls)
}
