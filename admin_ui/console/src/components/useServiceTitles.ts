import { useQuery } from '@tanstack/react-query'
import { servicesQuery } from './useConnectSetup.ts'
import { useLocalized } from './Localized.tsx'

/** The title of a service for administrators; its module's name until it is known, or where there is none any more. */
export function useServiceTitles(): (module: string) => string {
  const localized = useLocalized()
  const { data } = useQuery(servicesQuery)
  return (module) => {
    const service = data?.find((one) => one.module === module)
    return service ? localized({ en: service.title, ja: service.title_ja }) : module
  }
}
