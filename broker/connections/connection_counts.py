"""How many credentials of a tenant stand alike: counted by the database, so that it costs no row a credential."""

from collections.abc import Sequence
from dataclasses import dataclass

from broker.connections.connection_status import MAX_UNCERTAIN_ATTEMPTS, HealthState
from core.db import Row, UnitOfWork


@dataclass(frozen=True, slots=True)
class ConnectionCount:
    """How many credentials of a module have the state."""

    module: str
    state: HealthState
    count: int


async def load_credential_groups(work: UnitOfWork) -> Sequence[Row]:
    """Load the tenant's credentials, those that stand alike as one row with their `count`.

    A row has what :func:`broker.connections.connection_status.classify` reads of a credential, without the words of a
    cause, and what decides whether it covers enough: `provider`, `scopes`, and the `role_ids` of its owner, in order.
    Until the unit of work ends, its statements may take `SORT_MEMORY`.
    """
    await work.fetch(_GIVE_MEMORY, SORT_MEMORY)
    return await work.fetch(_GROUPS, MAX_UNCERTAIN_ATTEMPTS)


SORT_MEMORY = "32MB"
"""Enough to join the accounts of 100,000 credentials in the order in which they are stored; with PostgreSQL's 4 MB it
fetches each by itself (380 ms and more instead of 290, on a busy machine of two cores)."""
_GIVE_MEMORY = "SELECT set_config('work_mem', $2, true) WHERE $1::uuid IS NOT NULL"
# The words of a cause are as many as there are vendors' answers, and no state depends on them. Of the attempts only
# matters whether they are as many as make a vendor down ($2). What is yes or no is one number: grouping by one column
# is cheaper than by eight.
_GROUPS = """WITH owners AS MATERIALIZED (SELECT user_id, array_agg(role_id ORDER BY role_id) AS role_ids
        FROM core.role_assignments WHERE tenant_id = $1 GROUP BY user_id),
    alike AS MATERIALIZED (SELECT c.module, c.origins, a.oauth_client_id, a.scopes, a.status, a.last_error_class,
        CASE WHEN c.role_id IS NOT NULL THEN ARRAY[c.role_id] WHEN a.id IS NOT NULL THEN w.role_ids END AS role_ids,
        (c.type = 'A')::integer + 2 * (c.state = 'ok')::integer
            + 4 * (c.held_back AND coalesce(a.status, 'active') = 'active'
                AND c.rejected_version IS NOT DISTINCT FROM coalesce(a.version, c.version))::integer
            + 8 * coalesce(a.lease_until > k.now, false)::integer
            + 16 * coalesce(a.uncertain OR a.lease_until <= k.now, false)::integer
            + 32 * coalesce(a.attempt_no >= $2, false)::integer AS flags,
        count(*) AS count
        FROM (SELECT vault.clock() AS now) k, vault.credentials c
        LEFT JOIN vault.accounts a ON a.tenant_id = c.tenant_id AND a.id = c.account_id
        LEFT JOIN owners w ON w.user_id = c.user_id
        WHERE c.tenant_id = $1
        GROUP BY 1, 2, 3, 4, 5, 6, 7, 8)
    SELECT g.module, g.origins, g.count, g.status, g.last_error_class, coalesce(g.scopes, '{}') AS scopes,
        coalesce(g.role_ids, '{}') AS role_ids, coalesce(o.provider, '') AS provider,
        CASE WHEN g.flags & 1 > 0 THEN 'A' ELSE 'B' END AS type,
        CASE WHEN g.flags & 2 > 0 THEN 'ok' ELSE 'broken' END AS state,
        g.flags & 4 > 0 AS in_doubt, g.flags & 8 > 0 AS refreshing, g.flags & 16 > 0 AS cut_off,
        CASE WHEN g.flags & 32 > 0 THEN $2 ELSE 0 END AS attempt_no,
        coalesce(o.state = 'misconfigured', false) AS misconfigured,
        '' AS cause, '' AS reason, '' AS client_cause, '' AS last_reason, '' AS warning,
        s.settings ->> 'base_url' AS service_url
    FROM alike g
    LEFT JOIN vault.oauth_clients o ON o.tenant_id = $1 AND o.id = g.oauth_client_id
    LEFT JOIN core.services s ON s.tenant_id = $1 AND s.module = g.module"""
