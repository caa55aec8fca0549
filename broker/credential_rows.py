"""Stored credentials, as leases and connections tell of them: whose counts, how it stands, how long it is lent."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from uuid import UUID

from broker.accounts.values import Fresh, Stuck, StuckState
from broker.interface import NoCredential
from broker.vendor_oauth.reasons import SCOPE
from core.connection import Connection, ConnectionState, CredentialKind
from core.db import Row

LONGEST = 60.0
SPARE = 30.0
"""Seconds of a token's life that no lease reaches into: a call that begins at its end still has to arrive."""
READING_ONLY = "reading_only"
"""The cause of an account that works, but was granted nothing for tools that change something."""

_STATES = {"ok": ConnectionState.CONNECTED, "broken": ConnectionState.BROKEN}


def chosen(rows: Sequence[Row], module: str, roles: Sequence[UUID]) -> Row | None:
    """The user's own, else that of the first role that has one. A broken one is not passed over for another account."""
    mine = [row for row in rows if row["module"] == module]
    personal = next((row for row in mine if row["role_id"] is None), None)
    shared = {row["role_id"]: row for row in mine}
    return personal or next((shared[role_id] for role_id in roles if role_id in shared), None)


def kind_of(row: Row) -> CredentialKind:
    """Whose it is."""
    return "personal" if row["role_id"] is None else "shared"


def lasts(answer: Fresh) -> float:
    """For how many seconds a gateway may keep the token."""
    return LONGEST if answer.expires_in is None else max(0.0, min(LONGEST, answer.expires_in - SPARE))


def stuck(module: str, row: Row, answer: Stuck) -> NoCredential:
    """The cause is the account's own reason; else what stands in the way, which its owner cannot mend."""
    if answer.state is StuckState.MISSING:
        return NoCredential(module, "missing")
    own = answer.state in (StuckState.NEEDS_REAUTH, StuckState.DISABLED)
    cause = answer.cause if own and answer.cause else answer.state.value
    return NoCredential(module, "broken", kind_of(row), cause, answer.retry_after)


def connection(module: str, row: Row | None) -> Connection:
    """How a module stands with this credential, or without one."""
    if row is None:
        return Connection(module, ConnectionState.NEEDS_CONNECT)
    if row["type"] == "B":
        state, cause = _account_state(row)
        return Connection(module, state, kind_of(row), cause, row["vendor_account"], row["account_version"])
    return Connection(module, _STATES[row["state"]], kind_of(row), row["cause"], row["account"], row["version"])


def limited(one: Connection, lacks: Collection[bool]) -> Connection:
    """The same; or less, where it works but has nothing for tools that read (True) or change something (False)."""
    if one.state is not ConnectionState.CONNECTED:
        return one
    if True in lacks:
        return replace(one, state=ConnectionState.BROKEN, cause=SCOPE)
    return replace(one, reading_only=True) if lacks else one


def _account_state(row: Row) -> tuple[ConnectionState, str]:
    """What passes by itself within minutes is no state of an account: whoever calls meanwhile is told."""
    if row["status"] != "active":
        return ConnectionState.BROKEN, row["reason"] or row["status"]
    if row["misconfigured"]:
        return ConnectionState.BROKEN, StuckState.MISCONFIGURED.value
    return ConnectionState.CONNECTED, row["warning"]
