// A real OAuth 2.1 / OpenID Connect authorization server (npm oidc-provider, OpenID-certified) as a company's identity
// provider, or as a vendor. Loopback only, state in memory, signs people in without asking them anything.
// tests/support/oauth_provider/__init__.py starts it and says what the options and the control endpoint do.
// The first argument is the file of the package: this folder is not above tests/node/node_modules.
import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import * as querystring from 'node:querystring';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

globalThis.console = new console.Console(process.stderr); // standard output is for answers alone
const { Provider } = await import(pathToFileURL(process.argv[2]));

const generateKey = (type, options) => generateKeyPairSync(type, options).privateKey.export({ format: 'jwk' });
const spareKeys = []; // RSA keys take long to make: those of providers that have ended are used again

async function start(env) {
  const log = (what) => appendFileSync(env.LOG, `${what?.stack ?? what}\n`);
  const bool = (name, fallback) => (env[name] === undefined ? fallback : /^(1|true|yes)$/i.test(env[name]));
  const int = (name, fallback) => (env[name] === undefined ? fallback : Number.parseInt(env[name], 10));

  // Everything a test may change while the server runs (POST /__control {"set": {...}}).
  const settings = {
    rotate: bool('ROTATE', true), // false: the refresh token never changes (Google style)
    omitUnchangedRefreshToken: bool('OMIT_UNCHANGED_REFRESH_TOKEN', false),
    requireOfflineAccess: bool('REQUIRE_OFFLINE_ACCESS', false), // true: no refresh token without that scope
    accessTokenTtl: int('ACCESS_TOKEN_TTL', 30),
    refreshTokenTtl: int('REFRESH_TOKEN_TTL', 3600),
    graceSeconds: int('GRACE_SECONDS', 0), // >0: a used refresh token replays the same answer this long
    denyConsent: false, // true: the user presses "cancel"
    resourceScopes: env.RESOURCE_SCOPES ?? 'read write',
    tokenClaims: env.TOKEN_CLAIMS ?? '', // of the account's claims, those that access tokens have too
    account: 'alice', // who signs in where no login_hint names anybody
  };
  let faults = []; // consumed in order
  let claimsOf = {}; // sub -> claims that replace the usual ones
  let cimdDocuments = {}; // client_id URL -> metadata document, served to the provider's own fetch
  const REUSED = 'refresh_token_reuse_detected';
  const counters = {};
  const count = (name) => { counters[name] = (counters[name] ?? 0) + 1; };
  const grants = new Map(); // grantId -> accountId

  // The adapter that oidc-provider ships keeps only its 1,000 newest records, so a load test would
  // see tokens vanish. This one forgets nothing before it expires.
  const records = new Map();
  class MapAdapter {
    constructor(model) { this.model = model; }

    key(id) { return `${this.model}:${id}`; }

    async upsert(id, payload, expiresIn) {
      records.set(this.key(id), { payload, deadline: expiresIn ? Date.now() + expiresIn * 1000 + 60_000 : Infinity });
    }

    async find(id) {
      const record = records.get(this.key(id));
      if (record && record.deadline < Date.now()) { records.delete(this.key(id)); return undefined; }
      return record?.payload;
    }

    async #findBy(field, value) {
      for (const [key, { payload }] of records) {
        if (key.startsWith(`${this.model}:`) && payload[field] === value) return payload;
      }
      return undefined;
    }

    async findByUid(uid) { return this.#findBy('uid', uid); }

    async findByUserCode(userCode) { return this.#findBy('userCode', userCode); }

    async consume(id) {
      const payload = await this.find(id);
      if (payload) payload.consumed = Math.floor(Date.now() / 1000);
    }

    async destroy(id) { records.delete(this.key(id)); }

    async revokeByGrantId(grantId) {
      for (const [key, { payload }] of records) {
        if (key.startsWith(`${this.model}:`) && payload.grantId === grantId) records.delete(key);
      }
    }
  }

  const claimsFor = (sub) => ({
    sub, name: sub, email: sub.includes('@') ? sub : `${sub}@example.test`, email_verified: true, ...claimsOf[sub],
  });

  const rsa = spareKeys.pop() ?? generateKey('rsa', { modulusLength: 2048 });
  const redirectUris = (env.REDIRECT_URIS ?? 'http://127.0.0.1:8000/callback').split(/[\s,]+/).filter(Boolean);
  const clientSecret = env.CLIENT_SECRET ?? randomBytes(32).toString('base64url');
  const grantTypes = ['authorization_code', 'refresh_token'];
  const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
  const clients = [
    {
      client_id: env.CLIENT_ID ?? 'broker',
      // A client that proves itself by its key has no secret; CLIENT_JWKS is its key set.
      ...(env.CLIENT_JWKS ? { jwks: JSON.parse(env.CLIENT_JWKS) } : { client_secret: clientSecret }),
      client_name: 'Confidential web client',
      redirect_uris: redirectUris,
      grant_types: grantTypes,
      token_endpoint_auth_method: env.CLIENT_AUTH ?? 'client_secret_basic',
      application_type: 'native', // lets http://127.0.0.1 redirects through
    },
    {
      client_id: 'public-cli',
      client_name: 'Public native client (RFC 8252 loopback, any port; device flow)',
      redirect_uris: ['http://127.0.0.1/callback'],
      grant_types: [...grantTypes, deviceGrant],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
  ];

  const server = createServer();
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(int('PORT', 0), '127.0.0.1', resolve);
  });
  const issuer = `http://127.0.0.1:${server.address().port}`;

  const provider = new Provider(issuer, {
    adapter: MapAdapter,
    clients,
    clockTolerance: 0,
    cookies: { keys: [randomBytes(32).toString('hex')] },
    jwks: {
      keys: [
        { ...rsa, use: 'sig', kid: randomUUID(), alg: 'RS256' },
        { ...generateKey('ec', { namedCurve: 'P-256' }), use: 'sig', kid: randomUUID(), alg: 'ES256' },
      ],
    },
    scopes: ['openid', 'offline_access', 'email', 'profile', ...(env.SCOPES ?? '').split(' ').filter(Boolean)],
    extraTokenClaims: (ctx, token) => {
      const known = claimsFor(token.accountId);
      return Object.fromEntries(settings.tokenClaims.split(' ').filter((name) => name in known).map((name) => [name, known[name]]));
    },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups', '_claim_names'] },
    findAccount: (ctx, sub) => ({
      accountId: sub,
      claims: () => claimsFor(sub),
    }),
    responseTypes: ['code'],
    pkce: { required: () => true },
    conformIdTokenClaims: false,
    rotateRefreshToken: () => settings.rotate,
    issueRefreshToken: (ctx, client, source) => client.grantTypeAllowed('refresh_token')
      && (!settings.requireOfflineAccess || source.scopes.has('offline_access')),
    expiresWithSession: () => false,
    ttl: {
      AccessToken: () => settings.accessTokenTtl,
      RefreshToken: () => settings.refreshTokenTtl,
      AuthorizationCode: 60,
      DeviceCode: 300,
      Grant: 14 * 86400,
      IdToken: 300,
      Interaction: 300,
      Session: 86400,
    },
    features: {
      devInteractions: { enabled: false },
      introspection: { enabled: true },
      revocation: { enabled: true },
      registration: { enabled: true, initialAccessToken: env.DCR_INITIAL_ACCESS_TOKEN ?? false },
      registrationManagement: { enabled: true },
      clientIdMetadataDocument: { enabled: true, ack: 'draft-02', cacheDuration: { min: 0, max: 1 } },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (ctx, resource) => ({
          audience: resource,
          scope: settings.resourceScopes,
          accessTokenTTL: settings.accessTokenTtl,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
      deviceFlow: {
        enabled: true,
        userCodeInputSource: (ctx, form) => { ctx.body = `${form}<button form="op.deviceInputForm">Continue</button>`; },
        userCodeConfirmSource: (ctx, form) => { ctx.body = `${form}<button form="op.deviceConfirmForm">Allow</button>`; },
        successSource: (ctx) => { ctx.body = 'device approved'; },
      },
    },
    interactions: { url: (ctx, interaction) => `/interaction/${interaction.uid}` },
    renderError: (ctx, out) => { ctx.type = 'json'; ctx.body = out; },
    // No outgoing traffic: a client ID metadata document comes from the control endpoint or not at all.
    fetch: async (url) => (cimdDocuments[url]
      ? Response.json(cimdDocuments[url], { headers: { 'cache-control': 'no-store' } })
      : new Response('not found', { status: 404 })),
  });
  provider.on('grant.success', (ctx) => {
    count(`granted:${ctx.oidc.params.grant_type}`);
    const { Grant: grant, Account: account } = ctx.oidc.entities;
    if (grant && account) grants.set(grant.jti, account.accountId);
  });
  provider.on('grant.error', (ctx, error) => {
    count(`refused:${error.error}`);
    if (/already used/.test(error.error_detail ?? '')) {
      count(REUSED);
      log(REUSED); // counters can be set back, this line stays
    }
  });
  provider.on('grant.revoked', () => count('grant_revoked'));
  provider.on('server_error', (ctx, error) => { count('server_error'); log(error); });
  const handleByProvider = provider.callback();

  const readBody = async (req) => {
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    return Buffer.concat(chunks);
  };
  const sendJson = (res, status, value) => {
    res.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
    res.end(JSON.stringify(value));
  };
  const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

  // The user, without a browser: login_hint names who signs in (default alice) and always consents.
  async function interact(req, res) {
    const { uid, prompt, params, session, grantId } = await provider.interactionDetails(req, res);
    if (settings.denyConsent) {
      return provider.interactionFinished(req, res, { error: 'access_denied', error_description: 'the user said no' });
    }
    if (prompt.name === 'login') {
      return provider.interactionFinished(req, res, { login: { accountId: params.login_hint ?? settings.account } });
    }
    if (prompt.name !== 'consent') throw new Error(`interaction ${uid}: unexpected prompt ${prompt.name}`);
    const grant = (grantId && await provider.Grant.find(grantId))
      || new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
    const { missingOIDCScope, missingOIDCClaims, missingResourceScopes } = prompt.details;
    if (missingOIDCScope) grant.addOIDCScope(missingOIDCScope.join(' '));
    if (missingOIDCClaims) grant.addOIDCClaims(missingOIDCClaims);
    for (const [resource, scopes] of Object.entries(missingResourceScopes ?? {})) {
      grant.addResourceScope(resource, scopes.join(' '));
    }
    return provider.interactionFinished(req, res, { consent: { grantId: await grant.save() } }, { mergeWithLastSubmission: true });
  }

  // Takes the first pending fault for this grant type out of the queue.
  function takeFault(grantType) {
    const fault = faults.find((f) => (f.grant ?? grantType) === grantType);
    if (fault && (fault.times = (fault.times ?? 1) - 1) <= 0) faults = faults.filter((f) => f !== fault);
    return fault;
  }

  // Runs the provider with its answer held back, so that the caller can lose, delay or alter it.
  async function capture(req, res) {
    const chunks = [];
    const { end } = res;
    res.write = (chunk) => { chunks.push(Buffer.from(chunk)); return true; };
    const ended = new Promise((resolve) => {
      res.end = (chunk) => { if (chunk) chunks.push(Buffer.from(chunk)); resolve(); return res; };
    });
    handleByProvider(req, res);
    await ended;
    delete res.write;
    res.end = end;
    return Buffer.concat(chunks).toString();
  }

  const answers = new Map(); // spent refresh token -> its answer, kept only while a grace period is set

  async function tokenEndpoint(req, res) {
    const body = await readBody(req);
    const params = querystring.parse(body.toString());
    const grantType = String(params.grant_type ?? '');
    const presented = grantType === 'refresh_token' ? String(params.refresh_token ?? '') : undefined;
    count(`asked:${grantType || 'none'}`);
    const fault = takeFault(grantType);
    if (fault) count(`fault:${fault.kind}`);
    if (fault?.kind === 'hang_up_before') {
      await sleep(fault.ms ?? 0);
      return req.socket.destroy();
    }
    if (fault?.kind === 'delay_before') await sleep(fault.ms);
    if (fault?.kind === 'status') {
      for (const [name, value] of Object.entries(fault.headers ?? {})) res.setHeader(name, value);
      return sendJson(res, fault.status ?? 503, fault.body ?? { error: 'temporarily_unavailable' });
    }

    const first = presented && answers.get(presented);
    if (first && Date.now() - first.at < settings.graceSeconds * 1000) {
      count('grace_replay');
      const { status, text } = await first.answer;
      return sendJson(res, status, JSON.parse(text));
    }
    req.body = body;
    const answer = capture(req, res).then((text) => ({ status: res.statusCode, text }));
    if (presented && settings.graceSeconds > 0) answers.set(presented, { at: Date.now(), answer });
    let { text } = await answer;
    if (presented && res.statusCode === 200 && settings.omitUnchangedRefreshToken) {
      const tokens = JSON.parse(text);
      if (tokens.refresh_token === presented) delete tokens.refresh_token;
      text = JSON.stringify(tokens);
    }

    if (fault?.kind === 'hang_up_after') return req.socket.destroy(); // done at the vendor, answer lost
    if (fault?.kind === 'delay_after') await sleep(fault.ms);
    if (fault?.kind === 'garbage') text = fault.body ?? '<html>bad gateway</html>';
    res.setHeader('content-length', Buffer.byteLength(text));
    return res.end(text);
  }

  async function control(req, res) {
    if (req.method === 'POST') {
      let order;
      try { order = JSON.parse((await readBody(req)).toString() || '{}'); } catch { return sendJson(res, 400, { error: 'not JSON' }); }
      for (const [name, value] of Object.entries(order.set ?? {})) {
        if (!(name in settings)) return sendJson(res, 400, { error: `unknown setting ${name}` });
        settings[name] = value;
      }
      if (order.faults) faults = order.faults;
      if (order.cimd) cimdDocuments = order.cimd;
      if (order.claims) claimsOf = order.claims;
      if (order.reset_counters) for (const name of Object.keys(counters)) delete counters[name];
      for (const [grantId, accountId] of grants) {
        if (order.revoke_account !== accountId) continue; // the user removes our app at the vendor
        await Promise.all(['AccessToken', 'RefreshToken', 'AuthorizationCode', 'DeviceCode']
          .map((model) => new MapAdapter(model).revokeByGrantId(grantId)));
        await new MapAdapter('Grant').destroy(grantId);
        grants.delete(grantId);
      }
    }
    return sendJson(res, 200, {
      issuer, settings, faults, counters, grants: Object.fromEntries(grants), records: records.size, rss: process.memoryUsage().rss,
    });
  }

  server.on('request', async (req, res) => {
    try {
      const { pathname } = new URL(req.url, issuer);
      if (pathname === '/__control') await control(req, res);
      else if (pathname.startsWith('/interaction/')) await interact(req, res);
      else if (pathname === '/token' && req.method === 'POST') await tokenEndpoint(req, res);
      else handleByProvider(req, res);
    } catch (error) {
      log(error);
      if (!res.headersSent) sendJson(res, 500, { error: 'server_error', error_description: String(error.message) });
    }
  });

  return {
    issuer,
    clients: clients.map(({ client_id, client_secret, redirect_uris }) => ({ client_id, client_secret, redirect_uris })),
    stop: () => {
      server.close();
      server.closeAllConnections();
      spareKeys.push(rsa);
    },
  };
}

// One process serves for many tests: a line of JSON on standard input starts or stops a provider, a line on standard
// output answers. It ends with its input, so with the process that tests.
const running = new Map();
const answer = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
for await (const line of createInterface({ input: process.stdin })) {
  const { number, start: env } = JSON.parse(line);
  if (env) {
    try {
      const started = await start(env);
      running.set(number, started);
      answer({ issuer: started.issuer, clients: started.clients });
    } catch (error) {
      answer({ error: String(error) });
    }
  } else {
    running.get(number).stop();
    running.delete(number);
    answer({});
  }
}
process.exit(0);
