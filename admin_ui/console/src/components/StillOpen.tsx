import type { SchemaDisconnectionView } from '../api/schema.d.ts'
import { useMessages } from '../messages/index.tsx'
import { ModalForm } from './ModalForm.tsx'

interface StillOpenProps {
  title: string
  left: SchemaDisconnectionView
  onClose: () => void
}

/** What MCPist has forgotten, but the vendor may not have. */
export function StillOpen({ title, left, onClose }: StillOpenProps) {
  const { tools } = useMessages()
  const safe = left.manage_url.startsWith('https:')
  const key = left.revocation === 'api_key'
  return (
    <ModalForm
      title={tools.disconnected(title)}
      submit={tools.disconnect}
      onClose={onClose}
      onSubmit={async () => {}}
      result={
        <>
          <p>{key ? tools.keyLeft(title) : left.revocation === 'shared_grant' ? tools.sharedGrant(title) : tools.stillOpen(title)}</p>
          {safe && (
            <p>
              <a href={left.manage_url} target="_blank" rel="noreferrer">
                {tools.manageAt(title)}
              </a>
            </p>
          )}
        </>
      }
    >
      {null}
    </ModalForm>
  )
}
