import { ViewLinks } from '../../components/ViewLinks.tsx'
import { useMessages } from '../../messages/index.tsx'

/** The lists of the page. */
export function ServiceViews({ selected }: { selected: 'services' | 'providers' }) {
  const { services } = useMessages()
  return (
    <ViewLinks
      label={services.views}
      selected={selected}
      views={[
        { view: 'services', label: services.title },
        { view: 'providers', label: services.providers.title },
      ]}
    />
  )
}
