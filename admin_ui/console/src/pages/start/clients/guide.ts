import type { Messages } from '../../../messages/index.tsx'

/** Something to copy, and where it goes. */
export interface GuideStep {
  label: (texts: Messages['clients']['steps']) => string
  code?: string
}

/** How one client is connected; docs/clients.md has the same, and a test compares them. */
export interface ClientGuide {
  id: string
  name: string
  /** By the person's own sign-in, the usual way. */
  steps: (url: string) => GuideStep[]
  /** With an API token in the place of OAuth. */
  withToken?: (url: string) => GuideStep[]
  /** The client's own redirect URIs, for an administrator who registers it. */
  redirectUris?: readonly string[]
  /** Its maker's servers call MCPist. */
  needsInternet?: boolean
}

/** A word of a command line, quoted where the shell would read it otherwise. */
export function quoteShell(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

/** A basic string of TOML, or a double-quoted one of YAML: both read the escapes of JSON. */
export function quoteText(text: string): string {
  return JSON.stringify(text)
}

export function toJson(value: unknown): string {
  return JSON.stringify(value, null, 2)
}
