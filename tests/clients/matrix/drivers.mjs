// JavaScript libraries, each told of MCPist as its documentation says: `node drivers.mjs NAME PLAN` makes the calls of a
// plan and prints what the library gave for each. It is copied to where the libraries are installed.

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const { views, ...always } = JSON.parse(readFileSync(process.argv[3], 'utf8'));
const plan = { ...always };
const CALLBACK_PORT = 3456;
const REDIRECT = `http://127.0.0.1:${CALLBACK_PORT}/callback`;
const SECONDS = 60;

class NotListed extends Error {}
class CannotDo extends Error {}

const headers = () => (plan.token ? { Authorization: `Bearer ${plan.token}` } : {});

/** What an SDK asks of an application that signs people in; `back` becomes the parameters of the redirect. */
class Provider {
    constructor() {
        this.kept = {};
        this.back = new Promise(done => (this.cameBack = done));
    }
    get redirectUrl() { return REDIRECT; }
    get clientMetadata() {
        return {
            client_name: `Matrix ${plan.name}`,
            redirect_uris: [REDIRECT],
            token_endpoint_auth_method: 'none',
            grant_types: ['authorization_code', 'refresh_token'],
            response_types: ['code'],
        };
    }
    clientInformation() { return this.kept.client; }
    saveClientInformation(client) { this.kept.client = client; }
    tokens() { return this.kept.tokens; }
    saveTokens(tokens) { this.kept.tokens = tokens; }
    saveCodeVerifier(verifier) { this.kept.verifier = verifier; }
    codeVerifier() { return this.kept.verifier; }
    saveDiscoveryState(state) { this.kept.discovery = state; }
    discoveryState() { return this.kept.discovery; }
    redirectToAuthorization(url) {
        const server = createServer((request, response) => {
            response.setHeader('Connection', 'close');
            response.end('done');
            const asked = new URL(request.url, REDIRECT);
            if (asked.pathname === '/callback') {
                this.cameBack(asked.searchParams);
                server.close();
            }
        }).listen(CALLBACK_PORT, '127.0.0.1', () => spawn(process.env.BROWSER, [url.href], { stdio: 'ignore' }));
    }
}

/** A client of an SDK: `connect` makes transport and client, anew once the person has signed in. */
async function signedIn(sdk, makeClient, finish) {
    const authProvider = plan.token ? undefined : new Provider();
    const options = { authProvider, requestInit: { headers: headers() } };
    for (let attempt = 0; ; attempt++) {
        const transport = new sdk.StreamableHTTPClientTransport(new URL(plan.url), options);
        const client = makeClient();
        try {
            await client.connect(transport);
            return client;
        } catch (error) {
            if (!(error instanceof sdk.UnauthorizedError) || attempt) throw error;
            await finish(transport, await authProvider.back);
        }
    }
}

/** For a library that takes the provider of the SDK: one whose person has signed in; none with a token. */
async function signedInProvider() {
    if (plan.token) return undefined;
    const { auth } = await import('@modelcontextprotocol/sdk/client/auth.js');
    const provider = new Provider();
    if ((await auth(provider, { serverUrl: plan.url })) === 'REDIRECT') {
        const back = await provider.back;
        await auth(provider, { serverUrl: plan.url, authorizationCode: back.get('code'), iss: back.get('iss') });
    }
    return provider;
}

const session = (client, more = {}) => ({
    list: async () => (await client.listTools()).tools.map(tool => tool.name),
    call: (name, given) => client.callTool({ name, arguments: given }),
    resource: async uri => {
        const { resources } = await client.listResources();
        if (!resources.some(one => one.uri === uri)) throw new Error('it is not listed');
        return client.readResource({ uri });
    },
    prompt: async (name, given) => {
        const { prompts } = await client.listPrompts();
        if (!prompts.some(one => one.name === name)) throw new Error('it is not listed');
        return client.getPrompt({ name, arguments: given });
    },
    close: () => client.close(),
    ...more,
});

/** A library that makes objects of the listed tools. */
const tools = (found, call, more = {}) => ({
    list: async () => Object.keys(found),
    call: (name, given) => {
        if (!(name in found)) throw new NotListed();
        return call(found[name], given);
    },
    ...more,
});

const LIBRARIES = {
    async sdk_v1() {
        const [{ Client }, http, auth] = await Promise.all([
            import('@modelcontextprotocol/sdk/client/index.js'),
            import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
            import('@modelcontextprotocol/sdk/client/auth.js'),
        ]);
        const { CallToolResultSchema } = await import('@modelcontextprotocol/sdk/types.js');
        const make = () => new Client({ name: 'matrix', version: '1.0.0' });
        const client = await signedIn({ ...http, ...auth }, make, (transport, back) => transport.finishAuth(back.get('code')));
        const task = async (name, given) => {
            const seen = [];
            const options = { task: { ttl: 60_000 } };
            const stream = client.experimental.tasks.callToolStream({ name, arguments: given }, CallToolResultSchema, options);
            for await (const message of stream) {
                seen.push(message.type);
                if (message.type === 'error') throw message.error;
                if (message.type === 'result' && seen.includes('taskCreated')) return message.result;
            }
            throw new Error(`no task: ${seen}`);
        };
        return session(client, { task });
    },
    sdk_v2_modern: () => sdkV2({ versionNegotiation: { mode: 'auto' } }),
    sdk_v2_handshake: () => sdkV2({}),
    async langchain() {
        const { MultiServerMCPClient } = await import('@langchain/mcp-adapters');
        const server = { transport: 'http', url: plan.url, headers: headers(), authProvider: await signedInProvider() };
        const client = new MultiServerMCPClient({ mcpServers: { mcpist: server } });
        const found = Object.fromEntries((await client.getTools()).map(tool => [tool.name, tool]));
        const resource = uri => client.readResource('mcpist', uri);
        return tools(found, (tool, given) => tool.invoke(given), { resource, close: () => client.close() });
    },
    async openai_agents() {
        const { MCPServerStreamableHttp } = await import('@openai/agents');
        const authProvider = await signedInProvider();
        const server = new MCPServerStreamableHttp({ url: plan.url, requestInit: { headers: headers() }, authProvider });
        await server.connect();
        return {
            list: async () => (await server.listTools()).map(tool => tool.name),
            call: async (name, given) => await server.callTool(name, given),
            resource: server.readResource ? uri => server.readResource(uri) : undefined,
            close: () => server.close(),
        };
    },
    async ai_sdk() {
        const { createMCPClient } = await import('@ai-sdk/mcp');
        const transport = { type: 'http', url: plan.url, headers: headers(), authProvider: await signedInProvider() };
        const client = await createMCPClient({ transport });
        const options = { toolCallId: '1', messages: [] };
        return tools(await client.tools(), (tool, given) => tool.execute(given, options), {
            resource: uri => client.readResource({ uri }),
            prompt: (name, given) => (client.experimental_getPrompt ?? client.getPrompt).call(client, { name, arguments: given }),
            close: () => client.close(),
        });
    },
    async mastra() {
        const { MCPClient } = await import('@mastra/mcp');
        const authProvider = await signedInProvider();
        const server = { url: new URL(plan.url), requestInit: { headers: headers() }, authProvider };
        const client = new MCPClient({ id: plan.url, servers: { mcpist: server } });
        const listed = await (client.listTools ?? client.getTools).call(client);
        const found = Object.fromEntries(Object.entries(listed).map(([name, tool]) => [name.replace(/^mcpist_/, ''), tool]));
        return tools(found, (tool, given) => tool.execute(given, {}), {
            resource: uri => client.resources.read('mcpist', uri),
            prompt: (name, given) => client.prompts.get({ serverName: 'mcpist', name, args: given }),
            close: () => client.disconnect(),
        });
    },
    mcp_remote: () => proxied('mcp-remote/dist/proxy.js', [plan.url, ...header()]),
    supergateway() {
        if (!plan.token) throw new CannotDo('it has no sign-in');
        return proxied('supergateway/dist/index.js', ['--streamableHttp', plan.url, ...header(), '--logLevel', 'none']);
    },
};

const header = () => (plan.token ? ['--header', `Authorization: Bearer ${plan.token}`] : []);

async function sdkV2(options) {
    const sdk = await import('@modelcontextprotocol/client');
    const make = () => new sdk.Client({ name: 'matrix', version: '2.0.0' }, options);
    return session(await signedIn(sdk, make, (transport, back) => transport.finishAuth(back)));
}

/** A program that speaks MCP on its standard input and output for whoever cannot do HTTP. */
async function proxied(path, args) {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
    const client = new Client({ name: 'matrix', version: '1.0.0' });
    const command = { command: process.execPath, args: [`node_modules/${path}`, ...args], env: process.env, stderr: 'ignore' };
    await client.connect(new StdioClientTransport({ ...command, cwd: import.meta.dirname }));
    return session(client);
}

const within = promise =>
    Promise.race([promise, new Promise((_, no) => setTimeout(() => no(new Error('it took too long')), SECONDS * 1000))]);

async function answer(client, check, given) {
    const method = ['list', 'resource', 'prompt', 'task'].includes(check) ? client[check] : client.call;
    if (!method && check !== 'task') return { unsupported: 'nothing for it in the library' };
    try {
        const result = await within((async () => (method ?? client.call)(...given))());
        if (check === 'list') return { names: result };
        return { error: Boolean(result?.isError), text: JSON.stringify(result) ?? '', native: check !== 'task' || Boolean(method) };
    } catch (error) {
        if (error instanceof NotListed) return { not_listed: true };
        return { error: true, text: `${error.name}: ${error.message}` };
    }
}

async function oneView(name) {
    const answers = {};
    try {
        const client = await within(LIBRARIES[name]());
        for (const [check, given] of plan.checks) answers[check] = await answer(client, check, given);
        await Promise.race([client.close?.(), new Promise(done => setTimeout(done, 5000))]);
    } catch (error) {
        answers.connect = error instanceof CannotDo ? { unsupported: error.message } : { error: true, text: String(error.stack) };
    }
    return answers;
}

for (const [view, more] of Object.entries(views)) {
    Object.assign(plan, more);
    process.stdout.write(`${JSON.stringify([view, await oneView(process.argv[2])])}\n`);
}
process.exit(0);
