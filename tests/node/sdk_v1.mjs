// The story through the first TypeScript SDK, which speaks the handshake revisions only.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { plan, refusal, tell } from './story.mjs';

let transport;

async function connect(token) {
    const client = new Client({ name: 'typescript-v1', version: '1.0.0' });
    const requestInit = { headers: { Authorization: `Bearer ${token}` } };
    transport = new StreamableHTTPClientTransport(new URL(plan.url), { requestInit });
    await client.connect(transport);
    return client;
}

const client = await connect(plan.token);
const version = transport.protocolVersion;
const told = await tell(client, (params, onprogress) => client.callTool(params, undefined, { onprogress }));
await client.close();
console.log(JSON.stringify({ handshake: { ...told, version, refusal: await refusal(connect) } }));
