import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { CopyField } from '../../components/CopyField.tsx'
import { SelectField } from '../../components/Field.tsx'
import { ProblemNotice, Skeleton } from '../../components/States.tsx'
import { useMessages } from '../../messages/index.tsx'
import type { ClientGuide, GuideStep } from './clients/guide.ts'
import { CLIENTS } from './clients/index.ts'
import { CodeBlock } from '../../components/CodeBlock.tsx'
import { FirstCall } from './FirstCall.tsx'
import styles from './start.module.css'
import { mcpUrlQuery } from './queries.ts'
import { homeRoute } from './route.ts'

/** How a client is connected, ready to copy, and whether it has worked. */
export function ConnectClient() {
  const { clients } = useMessages()
  const { client: id } = homeRoute.useSearch()
  const navigate = useNavigate({ from: '/' })
  const url = useQuery(mcpUrlQuery)
  const client = CLIENTS.find((one) => one.id === id) ?? CLIENTS[0]!
  return (
    <section className={styles.card} aria-labelledby="home-client">
      <h2 id="home-client">{clients.title}</h2>
      <p className={styles.muted}>{clients.help}</p>
      {url.error && <ProblemNotice error={url.error} onRetry={() => void url.refetch()} />}
      {url.isPending && <Skeleton lines={4} />}
      {url.data && (
        <>
          <CopyField label={clients.url} value={url.data} />
          <div className={styles.chooser}>
            <SelectField
              label={clients.client}
              value={client.id}
              choices={CLIENTS.map((one) => ({ value: one.id, label: one.name }))}
              onChange={(value) => void navigate({ search: (before) => ({ ...before, client: value }), resetScroll: false })}
            />
          </div>
          <Guide key={client.id} client={client} url={url.data} />
          <FirstCall />
        </>
      )}
    </section>
  )
}

function Guide({ client, url }: { client: ClientGuide; url: string }) {
  const { clients } = useMessages()
  const own = client.steps(url)
  const withToken = client.withToken?.(url) ?? []
  const [shown, setShown] = useState(own.length === 0)
  return (
    <>
      {client.needsInternet && <p>{clients.needsInternet}</p>}
      {own.length > 0 && <Steps steps={own} />}
      {withToken.length > 0 && (
        <details open={shown} onToggle={(event) => setShown(event.currentTarget.open)} className={styles.details}>
          <summary>{clients.withToken}</summary>
          <p className={styles.muted}>
            {clients.tokenHelp}{' '}
            <Link to="/profile" search={{ dialog: 'token' }}>
              {clients.createToken}
            </Link>
          </p>
          <Steps steps={withToken} />
        </details>
      )}
      {client.redirectUris && (
        <details className={styles.details}>
          <summary>{clients.redirectUri}</summary>
          <p className={styles.muted}>{clients.redirectHelp}</p>
          {client.redirectUris.map((uri) => (
            <CopyField key={uri} label={clients.redirectUri} value={uri} />
          ))}
        </details>
      )}
    </>
  )
}

function Steps({ steps }: { steps: readonly GuideStep[] }) {
  const { clients } = useMessages()
  return (
    <ol className={styles.steps}>
      {steps.map((step, index) => (
        <li key={index}>
          <p>{step.label(clients.steps)}</p>
          {step.code && <CodeBlock code={step.code} label={step.label(clients.steps)} />}
        </li>
      ))}
    </ol>
  )
}
