// A TypeScript SDK's client with nothing but the URL: signs in through whoever reads this program's output and writes
// the parameters of the redirect to its input, then calls, refreshes and steps up.

import { createInterface } from 'node:readline';
import { readFileSync } from 'node:fs';

const plan = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = said => console.log(JSON.stringify(said));

async function sdk() {
    if (plan.sdk === 'v2') {
        return await import('@modelcontextprotocol/client');
    }
    const [{ Client }, http, auth] = await Promise.all([
        import('@modelcontextprotocol/sdk/client/index.js'),
        import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
        import('@modelcontextprotocol/sdk/client/auth.js'),
    ]);
    return { Client, ...http, ...auth };
}

class Provider {
    constructor() {
        this.kept = {};
        if (plan.client_id) this.kept.client = { client_id: plan.client_id, issuer: plan.issuer };
        if (plan.metadata_url) this.clientMetadataUrl = plan.metadata_url;
    }
    get redirectUrl() { return plan.redirect_uri; }
    get clientMetadata() {
        return {
            client_name: 'SDK of TypeScript',
            redirect_uris: [plan.redirect_uri],
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
        // The challenge names all scopes, and the SDK asks for those: begin with less, so that there is a step up. The
        // first SDK cannot: told of a missing scope, it only refreshes what it has, and gives up.
        if (plan.sdk === 'v2' && !this.kept.tokens) url.searchParams.set('scope', 'mcp:read');
        say({ authorize: url.href });
    }
}

const { Client, StreamableHTTPClientTransport, UnauthorizedError } = await sdk();

async function signedIn(provider, work) {
    for (let attempt = 0; ; attempt++) {
        const transport = new StreamableHTTPClientTransport(new URL(plan.url), { authProvider: provider });
        const client = new Client({ name: 'typescript', version: '1.0.0' }, plan.options);
        try {
            await client.connect(transport);
            return await work(client);
        } catch (error) {
            if (!(error instanceof UnauthorizedError) || attempt > 2) throw error;
            const { value } = await lines.next();
            const answer = new URLSearchParams(value);
            await (plan.sdk === 'v2' ? transport.finishAuth(answer) : transport.finishAuth(answer.get('code')));
        } finally {
            await client.close();
        }
    }
}

const create = name => client => client.callTool({
    name: 'call',
    arguments: {
        module: 'knowledge_graph',
        tool_name: 'create_entities',
        params: { entities: [{ name, entityType: 'person', observations: ['was here'] }] },
    },
});

const provider = new Provider();
const tools = await signedIn(provider, client => client.listTools());
const read = provider.kept.tokens;
const stepped = await signedIn(provider, create(`${plan.name} stepped`));
const written = provider.kept.tokens;
provider.kept.tokens = { ...written, access_token: `${written.access_token.slice(0, -8)}AAAAAAAA` };
const refreshed = await signedIn(provider, create(`${plan.name} refreshed`));
say({
    tools: tools.tools.map(tool => tool.name),
    scopes: [read.scope, written.scope],
    failed: [Boolean(stepped.isError), Boolean(refreshed.isError)],
    rotated: provider.kept.tokens.refresh_token !== written.refresh_token,
    client_id: provider.kept.client?.client_id,
});
process.exit(0);
