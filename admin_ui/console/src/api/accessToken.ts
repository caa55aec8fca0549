import { api, read } from './client.ts'

const EARLY_MS = 30_000

/** Access token of this session for gateways (docs/decisions/0063): in memory only, and gone with the page. */
let token: { value: string; until: number } | null = null

/** @throws {Problem} there is none to be had. */
export async function getAccessToken(): Promise<string> {
  if (token && token.until > Date.now()) return token.value
  const made = await read(api.POST('/api/v1/sessions/current/access-token', {}))
  token = { value: made.access_token, until: Date.now() + made.expires_in * 1000 - EARLY_MS }
  return token.value
}

/** The token was refused: the next one is a new one. */
export function forgetAccessToken(): void {
  token = null
}
