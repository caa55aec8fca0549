import type { Messages } from './index.tsx'

const OF_ROLE = 'role '
const OF_STREAM = /^audit stream \((.+)\)$/

/** The name of a check of doctor for people; one that is not known keeps the name that the command line shows. */
export function nameCheck({ auditStream, checks, databaseRole }: Messages['doctor'], check: string): string {
  const stream = OF_STREAM.exec(check)
  if (stream) return auditStream(stream[1]!)
  if (check.startsWith(OF_ROLE)) return databaseRole(check.slice(OF_ROLE.length))
  return (checks as Readonly<Record<string, string>>)[check] ?? check
}
