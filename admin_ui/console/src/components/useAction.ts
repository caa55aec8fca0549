import { useState } from 'react'
import { type Problem, toProblem } from '../api/problems.ts'

/** One action of a button: whether it runs, and the problem that it met. */
export function useAction() {
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<Problem | null>(null)
  const run = async (work: () => Promise<void>): Promise<void> => {
    setBusy(true)
    setProblem(null)
    try {
      await work()
    } catch (error) {
      setProblem(toProblem(error))
    } finally {
      setBusy(false)
    }
  }
  return { busy, problem, run }
}
