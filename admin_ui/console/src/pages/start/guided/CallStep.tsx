import { Link } from '@tanstack/react-router'
import { Card } from '../../../components/Card.tsx'
import { CodeBlock } from '../../../components/CodeBlock.tsx'
import { useMessages } from '../../../messages/index.tsx'
import { CallState } from '../FirstCall.tsx'
import type { ClientCall } from '../queries.ts'

/** What to ask the client, and whether it has called. */
export function CallStep({ call }: { call: ClientCall | null }) {
  const { guidedStart } = useMessages()
  return (
    <Card title={guidedStart.callTitle} help={guidedStart.callHelp}>
      <CodeBlock code={guidedStart.prompt} label={guidedStart.promptLabel} />
      <CallState call={call} />
      {!call && (
        <p>
          <Link to="/" search={{ start: 'client' }}>
            {guidedStart.backToClient}
          </Link>
        </p>
      )}
    </Card>
  )
}
