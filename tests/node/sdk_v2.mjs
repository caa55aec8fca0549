// The story through the second TypeScript SDK, once for each way of finding the protocol revision that it knows.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { plan, refusal, tell } from './story.mjs';

const handshake = version => ({ supportedProtocolVersions: [version] });
const WAYS = {
    modern: { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    auto: { versionNegotiation: { mode: 'auto' } },
    handshake: {},
    '2025-06-18': handshake('2025-06-18'),
    '2025-03-26': handshake('2025-03-26'),
    '2024-11-05': handshake('2024-11-05'),
};

async function connect(options, token) {
    const client = new Client({ name: 'typescript-v2', version: '2.0.0' }, options);
    const requestInit = { headers: { Authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(plan.url), { requestInit }));
    return client;
}

async function story(options) {
    const client = await connect(options, plan.token);
    const version = client.getNegotiatedProtocolVersion();
    const told = await tell(client, (params, onprogress) => client.callTool(params, { onprogress }));
    await client.close();
    return { ...told, version, refusal: await refusal(token => connect(options, token)) };
}

const stories = {};
for (const [way, options] of Object.entries(WAYS)) {
    stories[way] = await story(options);
}
console.log(JSON.stringify(stories));
