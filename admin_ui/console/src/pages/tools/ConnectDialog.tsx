import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { SchemaToolModuleView } from '../../api/schema.d.ts'
import { startConnecting } from '../../components/connecting.ts'
import { Localized, useLocalized } from '../../components/Localized.tsx'
import { ModalForm } from '../../components/ModalForm.tsx'
import { SetUpLink } from '../../components/SetUpLink.tsx'
import { ProblemNotice, Skeleton } from '../../components/States.tsx'
import { useMessages } from '../../messages/index.tsx'
import { ModuleState } from './ModuleState.tsx'
import { moduleQuery } from './queries.ts'
import styles from './tools.module.css'

interface ConnectDialogProps {
  module: string
  /** The page of the console to come back to; without it the tools. */
  returnPath?: string
  onClose: () => void
}

/** Before somebody goes away to connect an account: what it is for, and what will happen. */
export function ConnectDialog({ module, returnPath, onClose }: ConnectDialogProps) {
  const { tools } = useMessages()
  const localized = useLocalized()
  const { data, error, refetch } = useQuery(moduleQuery(module))
  const [causes, setCauses] = useState<readonly string[]>([])
  const title = data ? localized(data.title) : module
  const connected = data?.connection?.state === 'connected' && data.connection.kind === 'personal'
  const broken = data?.connection?.state === 'broken'
  const connect = async () => {
    const refused = await startConnecting({
      services: [module],
      reconnect: connected || broken,
      ...(returnPath && { returnPath }),
    })
    setCauses(refused.map((service) => service.cause))
  }
  const canConnect = data?.connection && data.connection.state !== 'ready' && data.connection.connectable
  return (
    <ModalForm
      title={tools.connectTitle(title)}
      submit={connected || broken ? tools.reconnect : tools.goOn}
      onClose={onClose}
      onSubmit={connect}
      {...(!canConnect && { result: <Unavailable data={data} error={error} onRetry={() => void refetch()} /> })}
    >
      {data && <About module={data} />}
      {causes.length > 0 && (
        <div role="alert" className={styles.refused}>
          {causes.map((cause) => (
            <p key={cause}>{cause === 'not_set_up' ? <NotSetUp module={module} title={title} /> : tools.notConnectable(title)}</p>
          ))}
        </div>
      )}
    </ModalForm>
  )
}

function About({ module }: { module: SchemaToolModuleView }) {
  const { tools } = useMessages()
  const localized = useLocalized()
  const title = localized(module.title)
  return (
    <>
      <p dir="auto">
        <Localized text={module.description} />
      </p>
      {module.connection && <ModuleState connection={module.connection} />}
      <p>{tools.connectHelp(title, module.tool_count)}</p>
      {module.connection?.kind === 'shared' && <p>{tools.connectOverShared}</p>}
    </>
  )
}

interface UnavailableProps {
  data: SchemaToolModuleView | undefined
  error: unknown
  onRetry: () => void
}

/** In the place of the form: nothing is known yet, there is no such module, it needs no account, or none can be connected. */
function Unavailable({ data, error, onRetry }: UnavailableProps) {
  const { tools } = useMessages()
  const localized = useLocalized()
  if (error) return <ProblemNotice error={error} onRetry={onRetry} />
  if (!data) return <Skeleton lines={3} />
  if (!data.connection) return <p>{tools.noToolsOfModule}</p>
  if (data.connection.state === 'ready') return <p>{tools.noAccountNeeded}</p>
  return (
    <p>
      <NotSetUp module={data.module} title={localized(data.title)} />
    </p>
  )
}

/** Why nobody can connect the service, and who can change that. */
function NotSetUp({ module, title }: { module: string; title: string }) {
  const { tools } = useMessages()
  return (
    <>
      {tools.notSetUp(title)} <SetUpLink module={module} title={title} />
    </>
  )
}
