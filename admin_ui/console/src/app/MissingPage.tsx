import { Link } from '@tanstack/react-router'
import type { Right } from '../api/queries.ts'
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
export function ForbiddenPage({ right }: { right: Right }) {
  const { problems } = useMessages()
  return (
    <Notice title={problems.forbiddenTitle[right]} text={problems.forbidden[right]}>
      <Link to="/">{problems.home}</Link>
    </Notice>
  )
}
