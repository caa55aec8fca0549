import { quoteShell } from '../../start/clients/guide.ts'
import { PROTOCOL_VERSION, type ToolCall, toMessage } from '../../../api/mcp.ts'

export const LANGUAGES = ['curl', 'Python', 'TypeScript'] as const
export type CodeLanguage = (typeof LANGUAGES)[number]

/** The same call as a program makes it, with an API token in the environment. */
export function writeCode(language: CodeLanguage, call: ToolCall, url: string): string {
  if (language === 'curl') return writeCurl(call, url)
  return language === 'Python' ? writePython(call, url) : writeTypeScript(call, url)
}

function writeCurl(call: ToolCall, url: string): string {
  return [
    `curl -s ${quoteShell(url)} \\`,
    `  -H "Authorization: Bearer $MCPIST_TOKEN" \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -H 'Accept: application/json, text/event-stream' \\`,
    `  -H 'MCP-Protocol-Version: ${PROTOCOL_VERSION}' \\`,
    `  -d ${quoteShell(JSON.stringify(toMessage(call)))}`,
  ].join('\n')
}

function writePython(call: ToolCall, url: string): string {
  return `import asyncio
import os

import httpx2
import mcp
from mcp.client.streamable_http import streamable_http_client


async def main():
    headers = {"Authorization": f"Bearer {os.environ['MCPIST_TOKEN']}"}
    async with httpx2.AsyncClient(headers=headers) as http:
        async with mcp.Client(streamable_http_client(${JSON.stringify(url)}, http_client=http)) as client:
            print(await client.call_tool(${JSON.stringify(call.name)}, ${toPython(call.arguments)}))


asyncio.run(main())`
}

/** A JSON value as Python writes it. */
export function toPython(value: unknown): string {
  if (value === null || value === undefined) return 'None'
  if (value === true) return 'True'
  if (value === false) return 'False'
  if (Array.isArray(value)) return `[${value.map(toPython).join(', ')}]`
  if (typeof value !== 'object') return JSON.stringify(value)
  return `{${Object.entries(value).map(([name, own]) => `${JSON.stringify(name)}: ${toPython(own)}`).join(', ')}}`
}

function writeTypeScript(call: ToolCall, url: string): string {
  return `import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"

const client = new Client({ name: 'example', version: '1.0.0' })
const headers = { Authorization: \`Bearer \${process.env.MCPIST_TOKEN}\` }
await client.connect(new StreamableHTTPClientTransport(new URL(${JSON.stringify(url)}), { requestInit: { headers } }))
console.log(await client.callTool(${JSON.stringify(call)}))
await client.close()`
}
