-- Fills a migrated database with $tenants tenants of 100 users and 100 permissions each; run as the superuser.
-- session_replication_role skips triggers and foreign keys: what they would do is done here, in bulk.
SET LOCAL session_replication_role = replica;

CREATE TEMPORARY TABLE made ON COMMIT DROP AS
    SELECT n, gen_random_uuid() AS tenant_id FROM generate_series(1, :tenants) AS n;
CREATE TEMPORARY TABLE made_roles ON COMMIT DROP AS
    SELECT m.n, m.tenant_id, r, gen_random_uuid() AS id FROM made m, generate_series(0, 9) AS r;
CREATE TEMPORARY TABLE made_users ON COMMIT DROP AS
    SELECT m.n, m.tenant_id, u, gen_random_uuid() AS id FROM made m, generate_series(0, 99) AS u;

INSERT INTO core.tenants (tenant_id, slug, name) SELECT tenant_id, 'bench-' || n, 'Bench ' || n FROM made;
INSERT INTO core.generations (tenant_id) SELECT tenant_id FROM made;
INSERT INTO core.services (tenant_id, module)
    SELECT tenant_id, module FROM made, unnest(ARRAY['bench', 'knowledge_graph', 'rag']) AS module;
INSERT INTO core.services (tenant_id, module, settings)
    SELECT made.tenant_id, module, settings FROM made, core.services WHERE module = 'github' AND settings <> '{}';
INSERT INTO core.services (tenant_id, module)
    SELECT tenant_id, 'm' || lpad(k::text, 4, '0') FROM made, generate_series(0, 9) AS k;
INSERT INTO core.roles (tenant_id, id, name, priority) SELECT tenant_id, id, 'role ' || r, r FROM made_roles;
INSERT INTO core.permissions (tenant_id, role_id, effect, permission)
    SELECT tenant_id, id, 'allow', 'm' || lpad(r::text, 4, '0') || '.tool_' || lpad(k::text, 3, '0')
    FROM made_roles, generate_series(0, 9) AS k;
INSERT INTO core.permissions (tenant_id, role_id, effect, permission)
    SELECT tenant_id, id, 'allow', permission FROM made_roles, 
    unnest(ARRAY['bench.*', 'github.*', 'knowledge_graph.*', 'rag.*']) AS permission;
INSERT INTO core.users (tenant_id, id, email)
    SELECT tenant_id, id, 'user' || u || '@bench-' || n || '.test' FROM made_users;
INSERT INTO core.role_assignments (tenant_id, user_id, role_id)
    SELECT u.tenant_id, u.id, r.id FROM made_users u
    JOIN made_roles r ON r.tenant_id = u.tenant_id AND r.r IN (u.u % 10, (u.u + 1) % 10);
-- Tokens that nobody has: the id is the 12 characters that a token carries.
INSERT INTO auth.api_tokens (tenant_id, id, user_id, name, pepper_kid, secret_hmac, scopes)
    SELECT tenant_id, 'b' || lpad((n * 100 + u)::text, 11, '0'), id, 'bench', 'none', sha256(id::text::bytea),
        ARRAY['mcp:read', 'mcp:write'] FROM made_users;
