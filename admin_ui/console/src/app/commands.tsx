import { useEffect, useEffectEvent } from 'react'

export interface Command {
  id: string
  label: string
  run: () => void
}

const active: Command[] = []

/** Add a command to the palette while the page that has it is mounted. */
export function useCommand(id: string, label: string, run: () => void): void {
  const call = useEffectEvent(run)
  useEffect(() => {
    const command: Command = { id, label, run: () => call() }
    active.push(command)
    return () => {
      active.splice(active.indexOf(command), 1)
    }
  }, [id, label])
}

/** Commands of the pages that are shown, as of now. */
export function listCommands(): readonly Command[] {
  return [...active]
}
