"""Step `claim`: commit the intent to present a refresh token, and before that everything that can fail.

One statement decides who refreshes: it takes the lease if the version is still the one whose token is in hand, and
nobody else holds it. The row it leaves behind tells of the intent until the outcome is stored; if that never happens,
whoever comes after the lease knows that a call may have been processed.
"""

from collections.abc import Mapping
from typing import Protocol
from uuid import UUID, uuid4

import orjson

from broker.connections.account_snapshot import (
    REFRESH_FIELD,
    AccountRef,
    AccountSnapshot,
    build_account_context,
    build_client_context,
)
from broker.oauth_client.types import OAuthClientConfig
from broker.providers.catalogue import get_token_endpoint_key
from broker.providers.schema import Provider
from broker.refresh.decision import RefreshTiming
from broker.refresh.outcome import Attempt, Boottime, PreparedRefresh
from broker.vault.vault import Vault
from core.db import Database, UnitOfWork
from core.errors import NotFound
from core.failpoints import failpoint
from core.secret import Secret


class ProviderLookup(Protocol):
    """Lookup of OAuth providers: the built-in ones and a tenant's own."""

    async def find(self, work: UnitOfWork, provider: str) -> Provider | None:
        """Return the provider of that id; None where the tenant has none."""
        ...


async def find_provider(providers: ProviderLookup, work: UnitOfWork, snapshot: AccountSnapshot) -> Provider:
    """Return the account's provider.

    Raises:
        NotFound: an administrator has removed it.
    """
    provider = await providers.find(work, snapshot.provider)
    if provider is None or provider.oauth is None:
        raise NotFound(f"the OAuth provider {snapshot.provider!r} was removed; add it again")
    return provider


async def prepare_refresh(
    work: UnitOfWork, vault: Vault, provider: Provider, ref: AccountRef, snapshot: AccountSnapshot
) -> PreparedRefresh:
    """Decrypt and look up all that the refresh needs.

    Raises:
        broker.vault.envelope.DecryptionError: a token or the client's secret was changed in the database.
        core.errors.Unavailable: the keys' keeper is away.
    """
    assert provider.oauth is not None
    assert snapshot.refresh is not None
    place = build_account_context(snapshot.id, REFRESH_FIELD, snapshot.version)
    refresh = Secret((await vault.open(work, place, snapshot.refresh)).decode())
    settings = _parse_settings(snapshot)
    client = OAuthClientConfig(
        snapshot.client_id, await _decrypt_client_secret(work, vault, snapshot), snapshot.auth_method, settings
    )
    endpoint = get_token_endpoint_key(ref.tenant_id, provider, settings)
    return PreparedRefresh(
        ref, snapshot, provider, endpoint, provider.oauth.refresh, client, refresh, sealer=await vault.get_sealer(work)
    )


async def claim(
    database: Database, prepared: PreparedRefresh, timing: RefreshTiming, boottime: Boottime
) -> Attempt | None:
    """Take the lease; None if another process was first, or the prepared data is outdated."""
    await failpoint("before_claim")
    owner, began, snapshot = uuid4(), boottime(), prepared.snapshot
    async with database.tenant(prepared.ref.tenant_id) as work:
        row = await work.fetchrow(
            _CLAIM,
            prepared.ref.id,
            snapshot.version,
            owner,
            timing.lease,
            snapshot.client_row_id,
            snapshot.client_version,
            prepared.endpoint,
        )
    await failpoint("claimed")
    if row is None:
        return None
    return Attempt(prepared, owner, row["uncertain"], row["attempt_no"], began, row["now"])


async def claim_probe(database: Database, tenant_id: UUID, snapshot: AccountSnapshot, timing: RefreshTiming) -> bool:
    """Claim the probe of an OAuth client that the vendor has refused; True for one process at a time."""
    async with database.tenant(tenant_id) as work:
        return bool(await work.execute(_PROBE, snapshot.client_row_id, timing.lease))


async def _decrypt_client_secret(work: UnitOfWork, vault: Vault, snapshot: AccountSnapshot) -> Secret | None:
    if snapshot.client_secret is None:
        return None
    place = build_client_context(snapshot.client_row_id, snapshot.client_version)
    return Secret((await vault.open(work, place, snapshot.client_secret)).decode())


def _parse_settings(snapshot: AccountSnapshot) -> Mapping[str, str]:
    document: dict[str, object] = orjson.loads(snapshot.settings)
    return {name: value for name, value in document.items() if isinstance(value, str)}


_CLAIM = """UPDATE vault.accounts a SET lease_owner = $4, lease_until = c.now + make_interval(secs => $5),
    uncertain = a.uncertain OR a.lease_owner IS NOT NULL, attempt_no = a.attempt_no + 1, attempted_at = c.now,
    endpoint = $8, presented_at = CASE WHEN a.uncertain OR a.lease_owner IS NOT NULL
        THEN coalesce(a.presented_at, c.now) ELSE c.now END
    FROM (SELECT vault.clock() AS now) c
    WHERE a.tenant_id = $1 AND a.id = $2 AND a.version = $3 AND a.status = 'active'
    AND (a.lease_until IS NULL OR a.lease_until < c.now)
    AND EXISTS (SELECT FROM vault.oauth_clients o WHERE o.tenant_id = $1 AND o.id = $6 AND o.version = $7
        AND o.id = a.oauth_client_id)
    RETURNING a.uncertain, a.attempt_no, c.now"""
_PROBE = """UPDATE vault.oauth_clients o SET breaker_until = c.now + make_interval(secs => $3)
    FROM (SELECT vault.clock() AS now) c
    WHERE o.tenant_id = $1 AND o.id = $2 AND (o.breaker_until IS NULL OR o.breaker_until < c.now)"""
