import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMe } from '../../api/queries.ts'
import type { SchemaToolModuleView } from '../../api/schema.d.ts'
import { Localized } from '../../components/Localized.tsx'
import { ProblemNotice, Skeleton } from '../../components/States.tsx'
import { StatusBadge, type Tone } from '../../components/StatusBadge.tsx'
import { useMessages } from '../../messages/index.tsx'
import { overviewQuery } from './queries.ts'
import styles from './start.module.css'

/** The person's roles, and what of their services works and what does not. */
export function Overview() {
  const { home } = useMessages()
  const me = useMe()
  const query = useQuery(overviewQuery)
  return (
    <div className={styles.overview}>
      <section className={styles.card} aria-labelledby="home-roles">
        <h2 id="home-roles">{home.roles}</h2>
        {me.roles.length === 0 && <p className={styles.muted}>{home.noRoles}</p>}
        <ul className={styles.roles}>
          {me.roles.map((role) => (
            <li key={role} dir="auto">
              {role}
            </li>
          ))}
        </ul>
      </section>
      <section className={styles.card} aria-labelledby="home-services">
        <h2 id="home-services">{home.services}</h2>
        {query.error && <ProblemNotice error={query.error} onRetry={() => void query.refetch()} />}
        {query.isPending && <Skeleton lines={3} />}
        {query.data && <Services modules={query.data.items.filter((module) => module.connection !== null)} />}
      </section>
    </div>
  )
}

function Services({ modules }: { modules: readonly SchemaToolModuleView[] }) {
  const { home } = useMessages()
  const having = (state: string) => modules.filter((module) => module.connection?.state === state)
  const broken = having('broken')
  const waiting = having('needs_connect')
  const connectable = waiting.filter((module) => module.connection?.connectable).length
  if (modules.length === 0) return <p className={styles.muted}>{home.noServices}</p>
  return (
    <>
      <ul className={styles.counts}>
        <Count count={having('connected').length + having('ready').length} tone="ok" label={home.usable} />
        <Count count={connectable} tone="warn" label={home.needsConnect} state="needs_connect" />
        <Count count={waiting.length - connectable} tone="none" label={home.notSetUp} state="needs_connect" />
        <Count count={broken.length} tone="bad" label={home.broken} state="broken" />
      </ul>
      {broken.length > 0 && (
        <ul className={styles.broken}>
          {broken.map((module) => (
            <li key={module.module}>
              <Link to="/tools" search={{ connect: module.module }}>
                <Localized text={module.title} />
              </Link>{' '}
              <span className={styles.muted}>
                <Localized text={module.connection!.message} />
              </span>
            </li>
          ))}
        </ul>
      )}
      <p>
        <Link to="/tools">{home.allTools}</Link>
      </p>
    </>
  )
}

interface CountProps {
  count: number
  tone: Tone
  label: (count: number) => string
  state?: 'needs_connect' | 'broken'
}

function Count({ count, tone, label, state }: CountProps) {
  if (count === 0) return null
  const badge = <StatusBadge tone={tone} text={label(count)} />
  return <li>{state ? <Link to="/tools" search={{ state }}>{badge}</Link> : badge}</li>
}
