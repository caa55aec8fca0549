/** The tenant's people as filters and fields name them; for administrators. */
import { queryOptions } from '@tanstack/react-query'
import { api, read } from './client.ts'

/** Find people by words of their names or addresses; the first ones without words. */
export async function findPeople(words: string): Promise<{ id: string; text: string; detail: string }[]> {
  const { items } = await read(api.GET('/api/v1/users', { params: { query: { limit: 20, ...(words && { q: words }) } } }))
  return items.map(({ id, email, name }) => ({ id, text: email, detail: name }))
}

/** The person whom a filter names. */
export const personQuery = (id: string) =>
  queryOptions({
    queryKey: ['users', id, 'name'],
    queryFn: () => read(api.GET('/api/v1/users/{user_id}', { params: { path: { user_id: id } } })),
  })
