/**
 * Permissions of a role as the API has them: `module.tool`, `module.*`, `module:read` and `*`, allowed or denied. What
 * is denied is taken from what the same role allows. The server decides (core/permissions.py); this shows and edits.
 */

export interface Grants {
  allow: ReadonlySet<string>
  deny: ReadonlySet<string>
}

export interface Tool {
  module: string
  name: string
  effect: 'reads' | 'changes' | 'destroys'
}

export interface Decision {
  permitted: boolean
  /** The most special permission that decides; null where none is about the tool. */
  by: string | null
}

export const PRESETS = ['none', 'reads', 'safe', 'all'] as const
export type Preset = (typeof PRESETS)[number]

/** Permissions that cover a tool, the most special first. */
function listCovering({ module, name, effect }: Tool): string[] {
  return [`${module}.${name}`, ...(effect === 'reads' ? [`${module}:read`] : []), `${module}.*`, '*']
}

export function decide(grants: Grants, tool: Tool): Decision {
  const covering = listCovering(tool)
  const denied = covering.find((permission) => grants.deny.has(permission))
  if (denied) return { permitted: false, by: denied }
  const allowed = covering.find((permission) => grants.allow.has(permission))
  return { permitted: allowed !== undefined, by: allowed ?? null }
}

/** Whether a broader permission denies the tool, so that it cannot be allowed by itself. */
export function isDeniedAtLarge(grants: Grants, tool: Tool): boolean {
  return listCovering(tool)
    .slice(1)
    .some((permission) => grants.deny.has(permission))
}

/** Let the role use a tool, or not, by the smallest change. */
export function setTool(grants: Grants, tool: Tool, permitted: boolean): Grants {
  const own = `${tool.module}.${tool.name}`
  const allow = new Set(grants.allow)
  const deny = new Set(grants.deny)
  if (permitted) deny.delete(own)
  else allow.delete(own)
  const now = decide({ allow, deny }, tool).permitted
  if (now !== permitted) (permitted ? allow : deny).add(own)
  return { allow, deny }
}

/** Give modules a preset in the place of all that the role says about them. `tools` are all tools of all modules. */
export function applyPreset(grants: Grants, modules: readonly string[], preset: Preset, tools: readonly Tool[]): Grants {
  const all = [...new Set(tools.map((tool) => tool.module))]
  const whole = all.every((module) => modules.includes(module))
  if (whole && preset === 'all') return { allow: new Set(['*']), deny: keepOthers(grants.deny, all) }
  const { allow: before, deny: beforeDeny } = expandEverything(grants, all)
  const allow = keepOthers(before, modules)
  const deny = keepOthers(beforeDeny, modules)
  for (const module of modules) {
    if (preset === 'all') allow.add(`${module}.*`)
    if (preset === 'reads') allow.add(`${module}:read`)
    if (preset !== 'safe') continue
    // Tool by tool: a tool that a later version brings is not among them until somebody has looked at it.
    for (const tool of tools) if (tool.module === module && tool.effect !== 'destroys') allow.add(`${module}.${tool.name}`)
  }
  return { allow, deny }
}

/** `*` as a permission for each module, so that one of them can be changed. */
function expandEverything(grants: Grants, modules: readonly string[]): Grants {
  const expand = (permissions: ReadonlySet<string>) =>
    permissions.has('*') ? new Set([...permissions, ...modules.map((module) => `${module}.*`)].filter((one) => one !== '*')) : permissions
  return { allow: expand(grants.allow), deny: expand(grants.deny) }
}

function keepOthers(permissions: ReadonlySet<string>, modules: readonly string[]): Set<string> {
  return new Set([...permissions].filter((permission) => permission !== '*' && !modules.includes(readModule(permission))))
}

export function readModule(permission: string): string {
  return permission.split(/[.:]/, 1)[0]!
}

export interface Changes {
  allow: Difference
  deny: Difference
}

interface Difference {
  add: string[]
  remove: string[]
}

/** What takes changes back. */
export function reverseChanges({ allow, deny }: Changes): Changes {
  return { allow: { add: allow.remove, remove: allow.add }, deny: { add: deny.remove, remove: deny.add } }
}

export function compare(before: Grants, after: Grants): Changes {
  return { allow: differ(before.allow, after.allow), deny: differ(before.deny, after.deny) }
}

export function countChanges({ allow, deny }: Changes): number {
  return [allow.add, allow.remove, deny.add, deny.remove].reduce((sum, part) => sum + part.length, 0)
}

function differ(before: ReadonlySet<string>, after: ReadonlySet<string>): Difference {
  return {
    add: [...after].filter((permission) => !before.has(permission)),
    remove: [...before].filter((permission) => !after.has(permission)),
  }
}
