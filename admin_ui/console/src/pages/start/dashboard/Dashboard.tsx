import { Link, useNavigate } from '@tanstack/react-router'
import { PageHead } from '../../../components/ListTools.tsx'
import { SelectField } from '../../../components/Field.tsx'
import { useMessages } from '../../../messages/index.tsx'
import { homeRoute, RANGES } from '../route.ts'
import styles from './dashboard.module.css'
import { Figures } from './Figures.tsx'
import { ServiceHealth } from './ServiceHealth.tsx'
import { ToDo } from './ToDo.tsx'

/** What an administrator should know at a glance, and what to do next. */
export function Dashboard() {
  const { dashboard } = useMessages()
  const { range = '24h' } = homeRoute.useSearch()
  const navigate = useNavigate({ from: '/' })
  return (
    <>
      <PageHead title={dashboard.title}>
        <div className={styles.tools}>
          <SelectField
            label={dashboard.range}
            hideLabel
            value={range}
            choices={RANGES.map((value) => ({ value, label: dashboard.ranges[value] }))}
            onChange={(value) => void navigate({ search: (before) => ({ ...before, range: value }) })}
          />
          <Link to="/" search={{ view: 'own' }}>
            {dashboard.own}
          </Link>
        </div>
      </PageHead>
      <ToDo />
      <Figures range={range} />
      <ServiceHealth range={range} />
    </>
  )
}
