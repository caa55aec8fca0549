import { type ClientGuide, quoteShell, quoteText } from './guide.ts'

export const codex: ClientGuide = {
  id: 'codex-cli',
  name: 'Codex CLI',
  steps: (url) => [
    { label: (texts) => texts.run, code: `codex mcp add mcpist --url ${quoteShell(url)}\ncodex mcp login mcpist` },
  ],
  withToken: (url) => [
    {
      label: (texts) => texts.file('~/.codex/config.toml'),
      code: `[mcp_servers.mcpist]\nurl = ${quoteText(url)}\nbearer_token_env_var = "MCPIST_TOKEN"`,
    },
  ],
  redirectUris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
}
