import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { IconButton } from '../../components/Button.tsx'
import { useLocalized } from '../../components/Localized.tsx'
import { StatusBadge, type Tone } from '../../components/StatusBadge.tsx'
import { useMessages } from '../../messages/index.tsx'
import { lastConnectSessionQuery, moduleQuery } from './queries.ts'
import styles from './tools.module.css'

const TONES: Record<'waiting' | 'done' | 'failed', Tone> = { done: 'ok', waiting: 'none', failed: 'bad' }

/** What came of connecting, for somebody who has just come back from it. */
export function ReturnedNotice() {
  const { common, tools } = useMessages()
  const navigate = useNavigate({ from: '/tools' })
  const { data } = useQuery(lastConnectSessionQuery)
  const services = data?.items[0]?.services ?? []
  if (services.length === 0) return null
  const close = () => void navigate({ search: (before) => ({ ...before, returned: undefined }), replace: true })
  return (
    <section aria-label={tools.returned} className={styles.returned}>
      <ul>
        {services.map((service) => (
          <li key={service.module}>
            {service.cause === 'not_set_up' ? (
              <StatusBadge tone="none" text={tools.states.not_set_up} />
            ) : (
              <StatusBadge tone={TONES[service.state]} text={tools.progress[service.state]} />
            )}
            <ServiceTitle module={service.module} />
            {service.account && <span dir="auto">{service.account}</span>}
          </li>
        ))}
      </ul>
      <IconButton icon={X} label={common.close} onPress={close} />
    </section>
  )
}

function ServiceTitle({ module }: { module: string }) {
  const localized = useLocalized()
  const { data } = useQuery(moduleQuery(module))
  return <span>{data ? localized(data.title) : module}</span>
}
