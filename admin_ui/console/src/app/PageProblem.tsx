import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import { ProblemNotice } from '../components/States.tsx'

/** In the place of a page that has failed. */
export function PageProblem({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  const retry = () => {
    reset()
    void router.invalidate()
  }
  return <ProblemNotice error={error} onRetry={retry} />
}
