import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useCallback } from 'react'
import { findPeople, personQuery } from '../../api/people.ts'
import { hasRight, useMe } from '../../api/queries.ts'
import { SelectField } from '../../components/Field.tsx'
import { FindBox } from '../../components/FindBox.tsx'
import { FilterPills, ListTools } from '../../components/ListTools.tsx'
import { useLocalized } from '../../components/Localized.tsx'
import { servicesQuery } from '../../components/useConnectSetup.ts'
import { useFormat, useMessages } from '../../messages/index.tsx'
import type { JobFilters } from './filters.ts'
import styles from './jobs.module.css'
import { ownServicesQuery } from './queries.ts'
import type { JobsSearch } from './route.ts'

interface ListFiltersProps<State extends string> {
  filters: JobFilters<State>
  states: readonly State[]
  stateNames: Readonly<Record<State, string>>
}

const NO_FILTERS = { state: undefined, service: undefined, user: undefined }

/** The filters of both lists, which the server applies: state and service; for administrators whose they are. */
export function ListFilters<State extends string>({ filters, states, stateNames }: ListFiltersProps<State>) {
  const { jobs } = useMessages()
  const administers = hasRight(useMe(), 'administer')
  const set = useSetSearch()
  const services = useServiceChoices(filters.isOfAll)
  const person = useQuery({ ...personQuery(filters.user ?? ''), enabled: filters.user !== undefined })
  const { state, service, user, isOfAll } = filters
  const pills = [
    state && { label: stateNames[state], onRemove: () => set({ state: undefined }) },
    service && {
      label: services.find((one) => one.value === service)?.label ?? service,
      onRemove: () => set({ service: undefined }),
    },
    user && { label: jobs.ofPerson(person.data?.email ?? user), onRemove: () => set({ user: undefined, of: 'all' }) },
  ].filter((pill) => typeof pill === 'object')
  return (
    <>
      <ListTools>
        {administers && (
          <SelectField
            label={jobs.whose}
            hideLabel
            value={isOfAll ? 'all' : 'own'}
            choices={[
              { value: 'own', label: jobs.mine },
              { value: 'all', label: jobs.everyones },
            ]}
            onChange={(whose) => set({ of: whose === 'all' ? 'all' : undefined, user: undefined })}
          />
        )}
        <SelectField
          label={jobs.columns.state}
          hideLabel
          value={state ?? 'any'}
          choices={[{ value: 'any', label: jobs.anyState }, ...states.map((value) => ({ value, label: stateNames[value] }))]}
          onChange={(value) => set({ state: value === 'any' ? undefined : value })}
        />
        <SelectField
          label={jobs.service}
          hideLabel
          value={service ?? ''}
          choices={[{ value: '', label: jobs.anyService }, ...services]}
          onChange={(value) => set({ service: value || undefined })}
        />
        {isOfAll && (
          <div className={styles.person}>
            <FindBox label={jobs.person} hideLabel resource="users" find={findPeople} onChoose={({ id }) => set({ user: id })} />
          </div>
        )}
      </ListTools>
      <FilterPills pills={pills} onClear={() => set({ ...NO_FILTERS, ...(isOfAll && { of: 'all' }) })} />
    </>
  )
}

/** Filters are choices: each can be gone back from. */
export function useSetSearch() {
  const navigate = useNavigate({ from: '/jobs' })
  return useCallback(
    (change: JobsSearch) => void navigate({ search: (before) => ({ ...before, ...change }) }),
    [navigate],
  )
}

/** The services that there are for administrators, else those of the person's tools; by name. */
function useServiceChoices(isOfAll: boolean): { value: string; label: string }[] {
  const localized = useLocalized()
  const format = useFormat()
  const all = useQuery({ ...servicesQuery, enabled: isOfAll })
  const own = useQuery({ ...ownServicesQuery, enabled: !isOfAll })
  const titles = isOfAll
    ? all.data?.map(({ module, title, title_ja }) => ({ module, title: { en: title, ja: title_ja } }))
    : own.data
  return (titles ?? [])
    .map(({ module, title }) => ({ value: module, label: localized(title) }))
    .sort((left, right) => format.compare(left.label, right.label))
}
