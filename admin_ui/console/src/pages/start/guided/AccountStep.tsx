import { Link } from '@tanstack/react-router'
import type { SchemaToolModuleView } from '../../../api/schema.d.ts'
import { Button } from '../../../components/Button.tsx'
import { Card } from '../../../components/Card.tsx'
import { findConnectMethod } from '../../../components/connectMethods.ts'
import { ItemList } from '../../../components/Facts.tsx'
import { useLocalized } from '../../../components/Localized.tsx'
import { useOverlay } from '../../../components/overlay.ts'
import { StatusBadge } from '../../../components/StatusBadge.tsx'
import { useMessages } from '../../../messages/index.tsx'
import { ConnectDialog } from '../../tools/ConnectDialog.tsx'
import { homeRoute } from '../route.ts'
import type { Known } from './steps.ts'

const OF_DIALOG = ['connect'] as const
const RETURN_PATH = '/console?start=account'

/** One account of the person's own, at a service that can be connected. */
export function AccountStep({ known }: { known: Known }) {
  const { connections, guidedStart } = useMessages()
  const localized = useLocalized()
  const { connect } = homeRoute.useSearch()
  const { open, close } = useOverlay(OF_DIALOG)
  const connectable = known.modules.filter(
    ({ connection }) => connection && connection.state !== 'ready' && (connection.kind !== null || connection.connectable),
  )
  return (
    <Card title={guidedStart.accountTitle} help={guidedStart.accountHelp}>
      <ItemList
        label={guidedStart.accountTitle}
        items={connectable}
        itemKey={(module) => module.module}
        title={(module) => localized(module.title)}
        detail={(module) => module.connection?.account || connections.methods[findConnectMethod(module.module, known.setup) ?? 'key']}
        end={(module) => <State module={module} title={localized(module.title)} onConnect={() => open({ connect: module.module })} />}
        empty={guidedStart.noneConnectable}
      />
      <p>
        <Link to="/" search={{ start: 'service' }}>
          {guidedStart.moreServices}
        </Link>
      </p>
      {connect && <ConnectDialog key={connect} module={connect} returnPath={RETURN_PATH} onClose={close} />}
    </Card>
  )
}

interface StateProps {
  module: SchemaToolModuleView
  title: string
  onConnect: () => void
}

function State({ module, title, onConnect }: StateProps) {
  const { tools } = useMessages()
  const state = module.connection!.state
  if (state === 'connected') return <StatusBadge tone="ok" text={tools.states.connected} />
  return (
    <>
      {state === 'broken' && <StatusBadge tone="bad" text={tools.states.broken} />}
      <Button onPress={onConnect} aria-label={tools.connectModule(title)}>
        {state === 'broken' ? tools.reconnect : tools.connect}
      </Button>
    </>
  )
}
