"""Revocation of tokens granted to an account that was deleted during its refresh."""

import logging

from broker.oauth_client.types import TokenEndpointClient, TokenSet
from broker.refresh.attempt import Attempt
from core.db import Database
from core.log_events import describe_error

log = logging.getLogger(__name__)


async def revoke_orphaned_grant(
    database: Database, endpoint: TokenEndpointClient, attempt: Attempt, tokens: TokenSet
) -> None:
    """Tell the vendor that these tokens are not wanted: whoever disconnected the account could tell it of older ones
    only. Not where another account, or this one connected anew, may stand on the same grant."""
    prepared, seen = attempt.prepared, attempt.prepared.snapshot
    try:
        async with database.tenant(attempt.ref.tenant_id) as work:
            owner = seen.user_id or seen.role_id
            if await work.fetchval(_STILL_USED, seen.client_row_id, seen.vendor_account_id, owner):
                return
        refresh = tokens.refresh_token or prepared.refresh_token
        revocation = await endpoint.revoke(
            prepared.provider, prepared.client, access=tokens.access_token, refresh=refresh
        )
    except Exception as error:  # noqa: BLE001 whoever waits for the account gets their answer all the same
        log.error(
            "grant of a deleted account was not revoked",
            extra={"event": "orphaned_grant_revocation_failed", "provider": seen.provider, **describe_error(error)},
        )
        return
    log.warning(
        "account was deleted during its refresh",
        extra={"event": "account_deleted_during_refresh", "provider": seen.provider, "revoked": revocation.done},
    )


# Where the vendor has not told whose one of them is, the owner's others count.
_STILL_USED = """SELECT EXISTS (SELECT FROM vault.accounts a WHERE a.tenant_id = $1 AND a.oauth_client_id = $2
    AND CASE WHEN a.vendor_account_id = '' OR $3 = '' THEN coalesce(a.user_id, a.role_id) = $4
        ELSE a.vendor_account_id = $3 END)"""
