import { api, read } from '../api/client.ts'
import type { SchemaConnectSessionView } from '../api/schema.d.ts'

interface Wish {
  /** Without them all that need an account. */
  services?: string[]
  reconnect?: boolean
  /** The role that shares the account; else it is one's own. */
  roleId?: string
  /** Page to come back to. */
  returnPath?: string
}

/**
 * Start a connect session and go to its page. By link, not by a form: the policy lets no form end in a redirect to a
 * vendor. Resolves with what cannot be connected, where that is all of it; else the browser leaves the page.
 * @throws {Problem} the API refuses it.
 */
export async function startConnecting({
  services,
  reconnect = false,
  roleId,
  returnPath = '/console/tools?returned=1',
}: Wish): Promise<SchemaConnectSessionView['services']> {
  const session = await read(
    api.POST('/api/v1/connect-sessions', {
      body: { services: services ?? null, reconnect, role_id: roleId ?? null, return_path: returnPath },
    }),
  )
  if (!session.services.some((service) => service.state === 'waiting')) {
    return session.services.filter((service) => service.state === 'failed')
  }
  location.assign(session.url)
  return []
}
