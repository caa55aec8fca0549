"""State of each stored credential: the one classifier, and the value that every surface shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal
from uuid import UUID

import orjson

from broker.connections.repository import MAX_CREDENTIALS, CredentialKey, load_credentials
from broker.rejections.report import IN_DOUBT
from broker.vault.origin_policy import ORIGIN_CHANGED, OriginPolicy
from core.connection_causes import CAUSES, STORED_UNREADABLE, find_cause
from core.connection_state import ConnectionState, CredentialKind
from core.db import Row, UnitOfWork

MAX_UNCERTAIN_ATTEMPTS = 3
"""After so many lost answers in a row it is the vendor that is down."""

OAUTH_CLIENTS_PATH = "/connect"
"""Where an administrator sees which OAuth clients vendors refuse."""

UNREADABLE = "unreadable"
CredentialType = Literal["api_key", "oauth"]
CREDENTIAL_TYPES: Mapping[str, CredentialType] = {"A": "api_key", "B": "oauth"}
"""The types by the letter that a row has."""


class HealthState(StrEnum):
    """Health of a connection."""

    NEEDS_CONNECT = "needs_connect"
    """There is none yet."""
    CONNECTED = "connected"
    REFRESHING = "refreshing"
    """It is being renewed, or an answer was lost on the way and it is tried again: nobody has to do anything."""
    NEEDS_RECONNECT = "needs_reconnect"
    """Its owner has to connect it again, or give a new key."""
    SERVICE_MISCONFIGURED = "service_misconfigured"
    """The vendor refuses our OAuth client. No account is lost."""
    REFUSED = "refused"
    """The vendor has refused it, and is asked again before its owner has to do anything."""
    VENDOR_DOWN = "vendor_down"
    DISABLED = "disabled"


class ResponsibleParty(StrEnum):
    """Party that can resolve a problem; empty if nobody has to act."""

    NOBODY = ""
    """Nothing is wrong, or it passes by itself."""
    OWNER = "owner"
    ADMINISTRATOR = "administrator"


@dataclass(frozen=True, slots=True)
class ConnectionStatus:
    """One credential, or the lack of one (`id` None). `cause` is a fixed word and `meaning` its sentence, both empty
    where nothing is wrong; `again_at` is when we ask the vendor next. `link` is a path of this product where it is
    mended. `owner_id` is the user's or the role's; `scopes` are those of an account."""

    id: UUID | None
    module: str
    provider: str
    kind: CredentialKind
    owner: str
    account: str
    state: HealthState
    cause: str
    message: str
    responsible: ResponsibleParty
    link: str
    next_retry_at: datetime | None
    owner_id: UUID
    scopes: tuple[str, ...] = ()
    stored: "StoredDetails | None" = None

    @property
    def sort_key(self) -> CredentialKey:
        """Return the position in a list."""
        return self.module, self.kind, self.owner


@dataclass(frozen=True, slots=True)
class StoredDetails:
    """Type and times of a stored credential."""

    type: CredentialType
    created_at: datetime
    updated_at: datetime
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class AccountEvent:
    """One event of an account's history; `exchange` is what was said at the token endpoint, without any secret."""

    at: datetime
    kind: str
    error_class: str
    exchange: Mapping[str, Any]


def build_connect_path(module: str, role_id: UUID | None) -> str:
    """Build the path at which an account is connected again.

    For a shared account it names the role: without it, the visitor would connect an account of their own.
    """
    return f"/connect/{module}?role={role_id}" if role_id else f"/connect/{module}"


def get_catalogue_word(cause: str, state: HealthState) -> str:
    """The word of the catalogue for a cause, "other" where it has none. One word means two things: that our row, or
    that the vendor's answer cannot be read."""
    if cause == UNREADABLE and state is HealthState.NEEDS_RECONNECT:
        return STORED_UNREADABLE
    return cause if cause in CAUSES else "other"


def describe_cause(cause: str, state: HealthState = HealthState.NEEDS_RECONNECT) -> str:
    """A cause in a clause for people."""
    return find_cause(get_catalogue_word(cause, state)).en


async def list_connection_statuses(
    work: UnitOfWork,
    origins: OriginPolicy,
    *,
    user_id: UUID | None = None,
    role_ids: Sequence[UUID] = (),
    credential_id: UUID | None = None,
    after: CredentialKey | None = None,
    limit: int = MAX_CREDENTIALS,
) -> list[ConnectionStatus]:
    """The tenant's credentials by module, kind and owner; only one user's own and those of `role_ids`, only one, or
    those `after` another."""
    rows = await load_credentials(
        work,
        everyone=user_id is None,
        user_id=user_id,
        role_ids=role_ids,
        credential_id=credential_id,
        after=after,
        limit=limit,
    )
    return [_build_status(row, origins) for row in rows]


def build_unconnected_status(module: str, user_id: UUID, owner: str) -> ConnectionStatus:
    """A module that a user may use, for which there is neither a credential of theirs nor a shared one."""
    link = f"/connect/{module}"
    return ConnectionStatus(
        None,
        module,
        "",
        "personal",
        owner,
        "",
        HealthState.NEEDS_CONNECT,
        "",
        "",
        ResponsibleParty.OWNER,
        link,
        None,
        user_id,
    )


def mark_needs_reconnect(one: ConnectionStatus, cause: str) -> ConnectionStatus:
    """The same, found to be worth nothing until it is connected again."""
    state = HealthState.NEEDS_RECONNECT
    return replace(
        one,
        state=state,
        cause=cause,
        message=describe_cause(cause),
        responsible=_find_responsible(state, one.kind),
        next_retry_at=None,
    )


async def list_account_events(work: UnitOfWork, credential_id: UUID) -> list[AccountEvent]:
    """The last events of the account behind a credential, the newest first; of a pasted key there are none."""
    rows = await work.fetch(_HISTORY, credential_id)
    return [AccountEvent(row["at"], row["kind"], row["class"], orjson.loads(row["detail"])) for row in rows]


def is_origin_changed(row: Row, origins: OriginPolicy) -> bool:
    """Check whether the base URL of the credential's service has changed since it was stored."""
    return origins.knows(row["module"]) and origins.is_origin_changed(
        row["module"], row["origins"], {"base_url": row["service_url"]}
    )


def classify(row: Row, origins: OriginPolicy) -> tuple[HealthState, str]:
    """State and cause of a credential, a row of :func:`broker.connections.repository.load_credentials`.

    What keeps every call away comes first. A cause is a fixed word; a credential that works has one too where its owner
    had better do something.
    """
    if is_origin_changed(row, origins):
        return HealthState.NEEDS_RECONNECT, ORIGIN_CHANGED
    if row["type"] == "A" and row["state"] != "ok":
        return HealthState.NEEDS_RECONNECT, row["cause"]
    if row["in_doubt"]:
        return HealthState.REFUSED, IN_DOUBT
    if row["type"] == "A":
        return HealthState.CONNECTED, ""
    if row["status"] == "needs_reauth":
        return HealthState.NEEDS_RECONNECT, row["reason"] or row["status"]
    if row["status"] != "active":
        return HealthState.DISABLED, row["reason"] or row["status"]
    if row["misconfigured"]:
        return HealthState.SERVICE_MISCONFIGURED, row["client_cause"]
    if row["refreshing"]:
        return HealthState.REFRESHING, ""
    return _classify_last_attempt(row)


def get_connection_state(state: HealthState) -> ConnectionState:
    """The coarse state that the data plane and connecting go by: a credential that passes its trouble by itself is
    connected."""
    return _CONNECTION_STATES.get(state, ConnectionState.CONNECTED)


def _build_status(row: Row, origins: OriginPolicy) -> ConnectionStatus:
    state, cause = classify(row, origins)
    return ConnectionStatus(
        id=row["id"],
        module=row["module"],
        provider=row["provider"],
        kind=row["kind"],
        owner=row["owner"],
        account=row["account"],
        state=state,
        cause=cause,
        message=describe_cause(cause, state) if cause else "",
        responsible=_find_responsible(state, row["kind"]),
        link=OAUTH_CLIENTS_PATH
        if state is HealthState.SERVICE_MISCONFIGURED
        else build_connect_path(row["module"], row["role_id"]),
        next_retry_at=row["again_at"] if cause and state in _TRANSIENT_STATES else None,
        owner_id=row["role_id"] or row["user_id"],
        scopes=tuple(row["scopes"]),
        stored=StoredDetails(CREDENTIAL_TYPES[row["type"]], row["created_at"], row["updated_at"], row["last_used_at"]),
    )


def _classify_last_attempt(row: Row) -> tuple[HealthState, str]:
    """What the last refresh that got no token says of now: it is due again, and that is not over until it succeeds."""
    match row["last_error_class"]:
        case "permanent":  # and its owner is not asked to come back: it is one of many
            return HealthState.VENDOR_DOWN, "permanent"
        case "not_sent" | "throttled" as cls:
            return HealthState.VENDOR_DOWN, row["last_reason"] or cls
        case "uncertain" as cls:
            state = HealthState.VENDOR_DOWN if row["attempt_no"] >= MAX_UNCERTAIN_ATTEMPTS else HealthState.REFRESHING
            return state, row["last_reason"] or cls
        case _:
            return (HealthState.REFRESHING, "uncertain") if row["cut_off"] else (HealthState.CONNECTED, row["warning"])


_CONNECTION_STATES = {
    HealthState.NEEDS_CONNECT: ConnectionState.NEEDS_CONNECT,
    HealthState.NEEDS_RECONNECT: ConnectionState.BROKEN,
    HealthState.DISABLED: ConnectionState.BROKEN,
    HealthState.SERVICE_MISCONFIGURED: ConnectionState.BROKEN,
}
_TRANSIENT_STATES = (
    HealthState.REFRESHING,
    HealthState.REFUSED,
    HealthState.VENDOR_DOWN,
    HealthState.SERVICE_MISCONFIGURED,
)


def _find_responsible(state: HealthState, kind: CredentialKind) -> ResponsibleParty:
    if state is HealthState.NEEDS_RECONNECT:
        return ResponsibleParty.OWNER if kind == "personal" else ResponsibleParty.ADMINISTRATOR
    return (
        ResponsibleParty.ADMINISTRATOR
        if state in (HealthState.SERVICE_MISCONFIGURED, HealthState.DISABLED)
        else ResponsibleParty.NOBODY
    )


_HISTORY = """SELECT e.at, e.kind, e.class, e.detail::text AS detail FROM vault.account_events e
    JOIN vault.credentials c ON c.tenant_id = e.tenant_id AND c.account_id = e.account_id
    WHERE e.tenant_id = $1 AND c.id = $2 ORDER BY e.id DESC LIMIT 50"""
