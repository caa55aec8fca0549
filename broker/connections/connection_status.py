"""The connection doctor: how each credential stands, why, who can do something about it, and what happened to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

import orjson

from broker.providers.error_reasons import REASON_DESCRIPTIONS
from broker.refresh.decision import LOST_ROTATION
from broker.rejections.report import IN_DOUBT
from core.connection_state import CredentialKind
from core.db import Row, UnitOfWork

MAX_STATUSES = 1_000
MAX_UNCERTAIN_ATTEMPTS = 3
"""After so many lost answers in a row it is the vendor that is down."""

OAUTH_CLIENTS_PATH = "/connect"
"""Where an administrator sees which OAuth clients vendors refuse."""

NO_CREDENTIAL_ID = UUID(int=0)
UNREADABLE = "unreadable"
_OWN_DESCRIPTIONS = {
    LOST_ROTATION: "the vendor's answer was lost while access was being renewed, and it is not given twice",
    "rejected": "the vendor does not accept it any more: it has expired or was revoked there",
    UNREADABLE: "it was changed in the database and cannot be read",
    "disabled": "an administrator has switched it off",
    "ending": "the vendor gives access for a limited time, whatever is done",
    "no_reach": "its app is installed nowhere at the vendor, so tools find nothing; the link says where to install it",
    "not_sent": "the vendor cannot be reached",
    "throttled": "the vendor asks to wait",
    "uncertain": "the vendor's last answer was lost",
    IN_DOUBT: "the vendor refuses it, and is asked again before anybody has to do something",
    "permanent": "the vendor refuses, and many other accounts with it: nobody is blamed yet",
}


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

    @property
    def sort_key(self) -> tuple[str, UUID]:
        """Where it stands in a list."""
        return self.module, self.id or NO_CREDENTIAL_ID


@dataclass(frozen=True, slots=True)
class AccountEvent:
    """One event of an account's history; `exchange` is what was said at the token endpoint, without any secret."""

    at: datetime
    kind: str
    error_class: str
    exchange: Mapping[str, Any]


def build_connect_path(module: str, role_id: UUID | None) -> str:
    """Where an account is connected again. One that a role shares, for the role: else whoever follows the link would
    connect their own."""
    return f"/connect/{module}?role={role_id}" if role_id else f"/connect/{module}"


def describe_cause(cause: str, state: HealthState = HealthState.NEEDS_RECONNECT) -> str:
    """A cause in a sentence for people. One word means two things: that our row, or that the vendor's answer cannot be
    read."""
    if cause == UNREADABLE and state is not HealthState.NEEDS_RECONNECT:
        return REASON_DESCRIPTIONS[cause]
    return (
        _OWN_DESCRIPTIONS.get(cause)
        or REASON_DESCRIPTIONS.get(cause)
        or "the vendor refuses, and gives no reason that we know"
    )


async def list_connection_statuses(
    work: UnitOfWork,
    *,
    user_id: UUID | None = None,
    role_ids: Sequence[UUID] = (),
    credential_id: UUID | None = None,
    after: tuple[str, UUID] | None = None,
    limit: int = MAX_STATUSES,
) -> list[ConnectionStatus]:
    """The tenant's credentials by module and id; only one user's own and those of `role_ids`, only one, or those
    `after` a module and id."""
    module, last = after or (None, None)
    wanted = user_id, list(role_ids), credential_id, module, last, limit
    return [_build_status(row) for row in await work.fetch(_STANDINGS, *wanted)]


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


def _build_status(row: Row) -> ConnectionStatus:
    state, cause = _classify(row)
    return ConnectionStatus(
        id=row["id"],
        module=row["module"],
        provider=row["provider"] or "",
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
        owner_id=row["owner_id"],
        scopes=tuple(row["scopes"]),
    )


def _classify(row: Row) -> tuple[HealthState, str]:
    if row["type"] == "A" and row["state"] != "ok":
        return HealthState.NEEDS_RECONNECT, row["cause"]
    if row["in_doubt"]:
        return HealthState.REFUSED, IN_DOUBT
    if row["type"] == "A":
        return HealthState.CONNECTED, ""
    if row["status"] == "needs_reauth":
        return HealthState.NEEDS_RECONNECT, row["reason"]
    if row["status"] == "disabled":
        return HealthState.DISABLED, "disabled"
    if row["misconfigured"]:
        return HealthState.SERVICE_MISCONFIGURED, row["client_cause"]
    if row["refreshing"]:
        return HealthState.REFRESHING, ""
    return _classify_last_attempt(row)


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


_STANDINGS = """SELECT c.id, c.module, c.type, c.state, c.cause, a.provider, a.status, a.reason, a.last_error_class,
    a.attempt_no, f.reason AS last_reason, coalesce(a.scopes, '{}') AS scopes,
    coalesce(c.user_id, c.role_id) AS owner_id, c.role_id,
    coalesce(a.details ->> 'warning', '') AS warning,
    CASE WHEN c.user_id IS NULL THEN 'shared' ELSE 'personal' END AS kind,
    coalesce(u.email, r.name) AS owner, coalesce(a.account, c.account) AS account,
    o.state = 'misconfigured' AS misconfigured, o.cause AS client_cause, a.lease_until > k.now AS refreshing,
    coalesce(a.uncertain OR a.lease_until <= k.now, false) AS cut_off,
    d.in_doubt, CASE WHEN d.in_doubt THEN c.recheck_at WHEN o.state = 'misconfigured' THEN o.breaker_until
        ELSE a.next_try_at END AS again_at
    FROM (SELECT vault.clock() AS now) k, vault.credentials c
    LEFT JOIN vault.accounts a ON a.tenant_id = c.tenant_id AND a.id = c.account_id
    LEFT JOIN vault.oauth_clients o ON o.tenant_id = a.tenant_id AND o.id = a.oauth_client_id
    LEFT JOIN core.users u ON u.tenant_id = c.tenant_id AND u.id = c.user_id
    LEFT JOIN core.roles r ON r.tenant_id = c.tenant_id AND r.id = c.role_id
    CROSS JOIN LATERAL (SELECT c.held_back AND coalesce(a.status, 'active') = 'active'
        AND c.rejected_version IS NOT DISTINCT FROM coalesce(a.version, c.version) AS in_doubt) d
    LEFT JOIN LATERAL (SELECT e.detail ->> 'reason' AS reason FROM vault.account_events e
        WHERE e.tenant_id = c.tenant_id AND e.account_id = a.id AND e.kind = 'failed' ORDER BY e.id DESC LIMIT 1
    ) f ON a.last_error_class <> ''
    WHERE c.tenant_id = $1 AND ($2::uuid IS NULL OR c.user_id = $2 OR c.role_id = ANY ($3::uuid[]))
    AND ($4::uuid IS NULL OR c.id = $4) AND ($5::text IS NULL OR (c.module, c.id) > ($5, $6::uuid))
    ORDER BY c.module, c.id LIMIT $7"""
_HISTORY = """SELECT e.at, e.kind, e.class, e.detail::text AS detail FROM vault.account_events e
    JOIN vault.credentials c ON c.tenant_id = e.tenant_id AND c.account_id = e.account_id
    WHERE e.tenant_id = $1 AND c.id = $2 ORDER BY e.id DESC LIMIT 50"""
