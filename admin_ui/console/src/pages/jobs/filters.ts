import { readOneOf } from '../../app/search.ts'
import type { JobsSearch } from './route.ts'

/** What of the address the API filters and sorts by, as far as this person may and this view has such states. */
export interface JobFilters<State extends string> {
  isOfAll: boolean
  state: State | undefined
  service: string | undefined
  user: string | undefined
}

export function readFilters<State extends string>(
  { of, state, service, user }: JobsSearch,
  states: readonly State[],
  administers: boolean,
): JobFilters<State> {
  const isOfAll = administers && (of === 'all' || user !== undefined)
  return { isOfAll, state: readOneOf(state, states), service, user: isOfAll ? user : undefined }
}

/** The same for the API. */
export function buildQuery<State extends string>({ isOfAll, state, service, user }: JobFilters<State>) {
  return {
    ...(user ? { user } : isOfAll && { all_owners: true }),
    ...(state && { state }),
    ...(service && { module: service }),
  }
}
