import { useQuery } from '@tanstack/react-query'
import { ownTokensQuery } from './queries.ts'

const TOKEN_ID = /^[0-9A-Za-z]{12}$/

/** Who asked for a job of one's own: a client by its name, or an API token, which the job knows by its id, by its own. */
export function AskedBy({ client }: { client: string }) {
  const { data: tokens, isLoading } = useQuery({ ...ownTokensQuery, enabled: TOKEN_ID.test(client) })
  if (isLoading) return null
  return tokens?.find(({ id }) => id === client)?.name ?? client
}
