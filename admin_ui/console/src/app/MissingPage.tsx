import { Link } from '@tanstack/react-router'
import { Notice } from '../components/States.tsx'
import { useMessages } from '../messages/index.tsx'

export function MissingPage() {
  const { problems } = useMessages()
  return (
    <Notice title={problems.missingTitle} text={problems.missing}>
      <Link to="/">{problems.home}</Link>
    </Notice>
  )
}

/** For a page that is not this person's; the API would refuse what it shows. */
export function ForbiddenPage() {
  const { problems } = useMessages()
  return (
    <Notice title={problems.forbiddenTitle} text={problems.forbidden}>
      <Link to="/">{problems.home}</Link>
    </Notice>
  )
}
