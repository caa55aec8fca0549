import type { Messages } from './index.tsx'

const OF_ROLE = 'role '

/** The name of a check of doctor for people; one that is not known keeps the name that the command line shows. */
export function nameCheck({ checks, databaseRole }: Messages['doctor'], check: string): string {
  if (check.startsWith(OF_ROLE)) return databaseRole(check.slice(OF_ROLE.length))
  return (checks as Readonly<Record<string, string>>)[check] ?? check
}
