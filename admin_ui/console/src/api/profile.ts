import { api, read } from './client.ts'
import type { SchemaProfileChange } from './schema.d.ts'

/** Keep a choice in the person's profile, so that it counts in every browser. The page has it already, and may be left at once. */
export async function keepInProfile(change: SchemaProfileChange): Promise<void> {
  await read(api.PATCH('/api/v1/me', { body: change, keepalive: true })).catch(() => null) // then it counts in this browser only
}
