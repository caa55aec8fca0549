import { Navigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { hasRight, useMe } from '../api/queries.ts'
import { PAGES } from './pages.ts'

/** The start: the first page that the person may use; somebody who has none is sent to their account. */
export function Home() {
  const me = useMe()
  const first = PAGES.find((page) => hasRight(me, page.options.staticData?.right))
  useEffect(() => {
    if (!first) location.replace('/account')
  }, [first])
  return first ? <Navigate to={first.to} replace /> : null
}
