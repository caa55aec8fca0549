"""Stored credentials, as leases and connections tell of them: whose counts, how it stands, how long it is lent."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from uuid import UUID

from broker.connections.account_snapshot import AccessToken, TokenUnavailable, UnavailableReason
from broker.connections.connection_status import HealthState, classify, get_connection_state
from broker.interface import NoCredential
from broker.providers.error_reasons import SCOPE
from broker.vault.origin_policy import OriginPolicy
from core.connection_state import ConnectionState, CredentialKind, ModuleConnection
from core.db import Row

MAX_LEASE_SECONDS = 60.0
LEASE_MARGIN_SECONDS = 30.0
"""Seconds of a token's life that no lease reaches into: a call that begins at its end still has to arrive."""
READING_ONLY = "reading_only"
"""The cause of an account that works, but was granted nothing for tools that change something."""


def select_credential(rows: Sequence[Row], module: str, roles: Sequence[UUID]) -> Row | None:
    """The user's own, else that of the first role that has one. A broken one is not passed over for another account."""
    candidates = [row for row in rows if row["module"] == module]
    personal = next((row for row in candidates if row["role_id"] is None), None)
    shared = {row["role_id"]: row for row in candidates}
    return personal or next((shared[role_id] for role_id in roles if role_id in shared), None)


def get_credential_kind(row: Row) -> CredentialKind:
    """Return whether the credential is personal or shared."""
    return "personal" if row["role_id"] is None else "shared"


def compute_lease_ttl(answer: AccessToken) -> float:
    """For how many seconds a gateway may keep the token."""
    return (
        MAX_LEASE_SECONDS
        if answer.expires_in is None
        else max(0.0, min(MAX_LEASE_SECONDS, answer.expires_in - LEASE_MARGIN_SECONDS))
    )


def build_no_credential(module: str, row: Row, answer: TokenUnavailable) -> NoCredential:
    """The cause is the account's own reason; else what stands in the way, which its owner cannot mend."""
    if answer.reason is UnavailableReason.MISSING:
        return NoCredential(module, "missing")
    own = answer.reason in (UnavailableReason.NEEDS_REAUTH, UnavailableReason.DISABLED)
    cause = answer.cause if own and answer.cause else answer.reason.value
    return NoCredential(module, "broken", get_credential_kind(row), cause, answer.retry_after)


def build_connection(module: str, row: Row | None, origins: OriginPolicy) -> ModuleConnection:
    """How a module stands with this credential, or without one. What passes by itself within minutes is no state of an
    account: whoever calls meanwhile is told."""
    if row is None:
        return ModuleConnection(module, ConnectionState.NEEDS_CONNECT)
    state, cause = classify(row, origins)
    if state is HealthState.SERVICE_MISCONFIGURED:
        cause = UnavailableReason.MISCONFIGURED.value
    shown = get_connection_state(state)
    version = row["version"] if row["type"] == "A" else row["account_version"]
    cause = cause if shown is ConnectionState.BROKEN else row["warning"]
    return ModuleConnection(module, shown, row["kind"], cause, row["account"], version)


def restrict_by_scopes(connection: ModuleConnection, lacks: Collection[bool]) -> ModuleConnection:
    """The same; or less, where it works but has nothing for tools that read (True) or change something (False)."""
    if connection.state is not ConnectionState.CONNECTED:
        return connection
    if True in lacks:
        return replace(connection, state=ConnectionState.BROKEN, cause=SCOPE)
    return replace(connection, reading_only=True) if lacks else connection
