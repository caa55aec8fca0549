/** Which queries a hint of the event stream makes old: by the first part of their keys, which is a resource of the API. */

/** What else shows a resource than its own queries. */
const SHOWN_BY: Readonly<Record<string, readonly string[]>> = {
  audit: ['figures'],
  tenant: ['me', 'tools', 'tool-modules', 'service-tools'],
  users: ['me', 'roles'],
  roles: ['users', 'me', 'tools', 'tool-modules', 'access-requests'],
  services: ['me', 'tools', 'tool-modules', 'service-tools', 'doctor'],
  tools: ['tool-modules', 'service-tools'],
  connections: ['tool-modules', 'tools', 'credentials', 'connect-sessions', 'users', 'doctor'],
  'oauth-clients': ['services', 'tool-modules', 'doctor'],
  providers: ['services', 'tool-modules'],
  jobs: ['schedules'],
  'access-requests': ['tool-modules', 'tools'],
  'oauth/grants': ['grants', 'users'],
  'oauth/clients': ['clients', 'grants'],
  'oauth/issuers': ['issuers', 'grants'],
  mandates: ['users', 'schedules'],
  sessions: ['users'],
  tokens: ['users', 'scim-tokens'],
  keys: ['doctor'],
  'deployment/identity-providers': ['identity-providers'],
  'deployment/notification-senders': ['senders'],
  'deployment/client-trust': ['client-trust'],
  'deployment/audit-retention': ['audit-retention'],
  'notification-settings': ['notification-preferences'],
  'role-mappings': ['roles'],
}

/** The first parts of the keys whose queries are to be fetched again. */
export function listAffected(resource: string): string[] {
  return [resource, ...(SHOWN_BY[resource] ?? [])]
}
