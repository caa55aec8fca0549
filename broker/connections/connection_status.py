"""Health of stored credentials: the one classifier, who can mend each state, and the words for it."""

from enum import StrEnum
from uuid import UUID

from broker.rejections.report import IN_DOUBT
from broker.vault.origin_policy import ORIGIN_CHANGED, OriginPolicy
from core.connection_causes import CAUSES, STORED_UNREADABLE, find_cause
from core.connection_state import ConnectionState, CredentialKind
from core.db import Row

MAX_UNCERTAIN_ATTEMPTS = 3
"""After so many lost answers in a row it is the vendor that is down."""

OAUTH_CLIENTS_PATH = "/connect"
"""Where an administrator sees which OAuth clients vendors refuse."""

UNREADABLE = "unreadable"


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


def is_origin_changed(row: Row, origins: OriginPolicy) -> bool:
    """Check whether the base URL of the credential's service has changed since it was stored."""
    return origins.knows(row["module"]) and origins.is_origin_changed(
        row["module"], row["origins"], {"base_url": row["service_url"]}
    )


def classify(row: Row, origins: OriginPolicy) -> tuple[HealthState, str]:
    """State and cause of a credential, a row of :func:`broker.connections.stored_credentials.load_credentials`.

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


def find_responsible(state: HealthState, kind: CredentialKind) -> ResponsibleParty:
    """Find who can resolve a problem."""
    if state is HealthState.NEEDS_RECONNECT:
        return ResponsibleParty.OWNER if kind == "personal" else ResponsibleParty.ADMINISTRATOR
    return (
        ResponsibleParty.ADMINISTRATOR
        if state in (HealthState.SERVICE_MISCONFIGURED, HealthState.DISABLED)
        else ResponsibleParty.NOBODY
    )


def is_transient(state: HealthState) -> bool:
    """Check whether the vendor is asked again by itself."""
    return state in _TRANSIENT_STATES


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
