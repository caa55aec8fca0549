/** How LLM clients are connected. */
export const clients = {
  title: 'Connect a client',
  help: 'Every client gets the same URL. It opens the browser once, and you let it in.',
  url: 'URL for clients',
  client: 'Client',
  needsInternet: 'Its maker’s servers call MCPist, so MCPist must be reachable from the Internet.',
  withToken: 'With an API token',
  tokenHelp: 'For a client that cannot sign in by the browser.',
  createToken: 'Create a token',
  redirectUri: 'Redirect URI',
  redirectHelp: 'Only where an administrator registers this client by hand.',
  steps: {
    run: 'Run this in a terminal',
    file: (file: string) => `Put this into ${file}`,
    menu: (path: string) => `In the client: ${path}`,
    inSession: (command: string, choice: string) => `In a session: ${command}, then ${choice}`,
    typed: 'In a session, type',
  },
  worked: 'Has it worked?',
  waiting: 'Waiting for the first call of a tool',
  firstCall: 'It has. First call:',
  lastCall: 'Before that:',
}
