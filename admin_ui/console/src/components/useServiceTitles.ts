import { queryOptions, useQuery } from '@tanstack/react-query'
import { api, read } from '../api/client.ts'
import { readAll } from '../api/pages.ts'
import { useLocalized } from './Localized.tsx'

const servicesQuery = queryOptions({
  queryKey: ['services', 'titles'],
  queryFn: () => readAll((query) => read(api.GET('/api/v1/services', { params: { query } }))),
})

/** The title of a service for administrators; its module's name until it is known, or where there is none any more. */
export function useServiceTitles(): (module: string) => string {
  const localized = useLocalized()
  const { data } = useQuery(servicesQuery)
  return (module) => {
    const service = data?.find((one) => one.module === module)
    return service ? localized({ en: service.title, ja: service.title_ja }) : module
  }
}
