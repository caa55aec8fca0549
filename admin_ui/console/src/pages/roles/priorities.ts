/** What is known of a role in the order of roles, the highest priority first. */
export interface Ranked {
  id: string
  priority: number
}

export interface PriorityChange {
  id: string
  from: number
  to: number
}

/** The same roles with one of them at another place. */
export function move<Role extends Ranked>(roles: readonly Role[], from: number, to: number): Role[] {
  const moved = roles[from]
  if (!moved || to < 0 || to >= roles.length) return [...roles]
  const others = roles.filter((role) => role !== moved)
  return [...others.slice(0, to), moved, ...others.slice(to)]
}

/**
 * The priorities that put the role at `place` where it stands in `order`, in the order in which they are to be set. As few
 * as possible change: the role gets one between its neighbours, and only where there is none those above it move up.
 */
export function computePriorities(order: readonly Ranked[], place: number): PriorityChange[] {
  const moved = order[place]
  if (!moved) return []
  const above = order[place - 1]?.priority
  const below = order[place + 1]?.priority
  const isRight = (above === undefined || moved.priority < above) && (below === undefined || moved.priority > below)
  if (isRight) return []
  if (above !== undefined && below === undefined) return [change(moved, above - 1)]
  if (above !== undefined && below !== undefined && above - below >= 2) {
    return [change(moved, below + Math.floor((above - below) / 2))]
  }
  const changes = [change(moved, below! + 1)]
  for (let index = place - 1; index >= 0; index -= 1) {
    const lowest = changes.at(-1)!.to + 1
    if (order[index]!.priority >= lowest) break
    changes.push(change(order[index]!, lowest))
  }
  // From the top down: at no moment is a role below one that it is to stay above.
  return changes.reverse()
}

function change({ id, priority }: Ranked, to: number): PriorityChange {
  return { id, from: priority, to }
}
