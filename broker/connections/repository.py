"""Query for stored credentials and their dependencies: account, OAuth client, owner and service settings."""

from collections.abc import Sequence
from uuid import UUID

from core.db import Row, UnitOfWork

MAX_CREDENTIALS = 1_000

CredentialKey = tuple[str, str, str]
"""The place of a credential in every list: module, kind, and the owner's e-mail address or role name."""


async def load_credentials(
    work: UnitOfWork,
    *,
    modules: Sequence[str] | None = None,
    everyone: bool = False,
    user_id: UUID | None = None,
    role_ids: Sequence[UUID] = (),
    credential_id: UUID | None = None,
    after: CredentialKey | None = None,
    limit: int | None = MAX_CREDENTIALS,
    with_secrets: bool = False,
) -> Sequence[Row]:
    """List a user's and these roles' credentials, or everyone's in the tenant, by module, kind and owner.

    `modules` and `credential_id` narrow the list, and `after` begins behind a credential. The sealed secret of a pasted
    key is read only `with_secrets`.
    """
    names = None if modules is None else list(modules)
    wanted = names, everyone, user_id, list(role_ids), credential_id
    return await work.fetch(_CREDENTIALS, *wanted, *(after or (None, None, None)), limit, with_secrets)


_CREDENTIALS = """SELECT c.id, c.module, c.type, c.user_id, c.role_id, w.kind, w.owner, coalesce(r.name, '') AS role,
    c.version, c.state, c.cause, c.origins, c.scheme, CASE WHEN $11 THEN c.secret END AS secret,
    c.created_at, greatest(c.updated_at, a.updated_at) AS updated_at,
    greatest(c.last_used_at, a.last_used_at) AS last_used_at,
    c.last_used_at IS NULL OR c.last_used_at < k.now - interval '1 minute' AS stale_use,
    c.held_back, c.rejected_version, extract(epoch FROM c.recheck_at - k.now)::float8 AS recheck_in, d.in_doubt,
    coalesce(a.account, c.account) AS account, c.account_id, a.version AS account_version, a.status, a.reason,
    coalesce(a.provider, '') AS provider, a.oauth_client_id, coalesce(a.vendor_account_id, '') AS vendor_account_id,
    coalesce(a.scopes, '{}') AS scopes, coalesce(a.details, '{}'::jsonb) AS details,
    coalesce(a.details ->> 'warning', '') AS warning, a.granted_at, a.refresh IS NULL AS unrenewable,
    coalesce(a.last_error_class, '') AS last_error_class, a.attempt_no, f.reason AS last_reason,
    coalesce(a.lease_until > k.now, false) AS refreshing,
    coalesce(a.uncertain OR a.lease_until <= k.now, false) AS cut_off,
    coalesce(o.state = 'misconfigured', false) AS misconfigured, o.cause AS client_cause,
    CASE WHEN d.in_doubt THEN c.recheck_at WHEN o.state = 'misconfigured' THEN o.breaker_until
        ELSE a.next_try_at END AS again_at, s.settings ->> 'base_url' AS service_url
    FROM (SELECT vault.clock() AS now) k, vault.credentials c
    LEFT JOIN vault.accounts a ON a.tenant_id = c.tenant_id AND a.id = c.account_id
    LEFT JOIN vault.oauth_clients o ON o.tenant_id = a.tenant_id AND o.id = a.oauth_client_id
    LEFT JOIN core.users u ON u.tenant_id = c.tenant_id AND u.id = c.user_id
    LEFT JOIN core.roles r ON r.tenant_id = c.tenant_id AND r.id = c.role_id
    LEFT JOIN core.services s ON s.tenant_id = c.tenant_id AND s.module = c.module
    CROSS JOIN LATERAL (SELECT c.held_back AND coalesce(a.status, 'active') = 'active'
        AND c.rejected_version IS NOT DISTINCT FROM coalesce(a.version, c.version) AS in_doubt) d
    CROSS JOIN LATERAL (SELECT CASE WHEN c.user_id IS NULL THEN 'shared' ELSE 'personal' END AS kind,
        coalesce(u.email, r.name) AS owner) w
    LEFT JOIN LATERAL (SELECT e.detail ->> 'reason' AS reason FROM vault.account_events e
        WHERE e.tenant_id = c.tenant_id AND e.account_id = a.id AND e.kind = 'failed' ORDER BY e.id DESC LIMIT 1
    ) f ON a.last_error_class <> ''
    WHERE c.tenant_id = $1 AND ($2::text[] IS NULL OR c.module = ANY ($2))
    AND ($3 OR c.user_id = $4 OR c.role_id = ANY ($5::uuid[])) AND ($6::uuid IS NULL OR c.id = $6)
    AND ($7::text IS NULL OR (c.module, w.kind, w.owner) > ($7, $8::text, $9::text))
    ORDER BY c.module, w.kind, w.owner LIMIT $10"""
