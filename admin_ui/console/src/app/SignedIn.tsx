import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import { announce } from '../api/session.ts'
import { Notice } from '../components/States.tsx'
import { useMessages } from '../messages/index.tsx'

/** Where a sign-in ends that was begun in a tab of its own: the tab that waits for it goes on. */
export function SignedIn() {
  const { problems } = useMessages()
  useEffect(() => announce('signed-in'), [])
  return (
    <Notice title={problems.signedInTitle} text={problems.signedIn}>
      <Link to="/">{problems.goOn}</Link>
    </Notice>
  )
}
