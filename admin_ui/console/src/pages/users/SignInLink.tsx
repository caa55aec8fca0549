import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaSignInLinkView } from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import { CopyField } from '../../components/CopyField.tsx'
import { Actions } from '../../components/Facts.tsx'
import { ProblemNotice } from '../../components/States.tsx'
import { Time } from '../../components/Time.tsx'
import { useAction } from '../../components/useAction.ts'
import { useMessages } from '../../messages/index.tsx'

/** Makes a link that signs a person in once. It is a secret: kept nowhere but in this component. */
export function SignInLink({ userId }: { userId: string }) {
  const { problems, users } = useMessages()
  const { busy, problem, run } = useAction()
  const [link, setLink] = useState<SchemaSignInLinkView | null>(null)
  const create = () =>
    run(async () => {
      setLink(await read(api.POST('/api/v1/users/{user_id}/sign-in-link', { params: { path: { user_id: userId } } })))
    })
  if (link)
    return (
      <div>
        <CopyField label={users.link.title} value={link.url} />
        <p>{users.link.help}</p>
        <p>
          {users.link.expires} <Time at={link.expires_at} />
        </p>
      </div>
    )
  return (
    <>
      <Actions>
        <Button onPress={() => void create()} isPending={busy}>
          {users.link.create}
        </Button>
      </Actions>
      {problem && <ProblemNotice error={problem} title={problems.actionTitle} />}
    </>
  )
}
