"""The connection doctor: how each credential stands, why, who can do something about it, and what happened to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

import orjson

from broker.refresh.recovery import LOST_ROTATION
from broker.rejections.report import IN_DOUBT
from broker.vendor_oauth.reasons import MEANINGS
from core.connection import CredentialKind
from core.db import Row, UnitOfWork

MOST_SHOWN = 1_000
PATIENCE = 3
"""After so many lost answers in a row it is the vendor that is down."""

CLIENTS = "/connect"
"""Where an administrator sees which OAuth clients vendors refuse."""

NO_CREDENTIAL = UUID(int=0)
UNREADABLE = "unreadable"
_OWN_MEANINGS = {
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


class State(StrEnum):
    """How a credential stands."""

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


class Who(StrEnum):
    """Who can do something about it."""

    NOBODY = ""
    """Nothing is wrong, or it passes by itself."""
    OWNER = "owner"
    ADMINISTRATOR = "administrator"


@dataclass(frozen=True, slots=True)
class Standing:
    """One credential, or the lack of one (`id` None). `cause` is a fixed word and `meaning` its sentence, both empty
    where nothing is wrong; `again_at` is when we ask the vendor next. `link` is a path of this product where it is
    mended. `owner_id` is the user's or the role's; `scopes` are those of an account."""

    id: UUID | None
    module: str
    provider: str
    kind: CredentialKind
    owner: str
    account: str
    state: State
    cause: str
    meaning: str
    who: Who
    link: str
    again_at: datetime | None
    owner_id: UUID
    scopes: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, UUID]:
        """Where it stands in a list."""
        return self.module, self.id or NO_CREDENTIAL


@dataclass(frozen=True, slots=True)
class Happened:
    """One event of an account's history; `exchange` is what was said at the token endpoint, without any secret."""

    at: datetime
    kind: str
    cls: str
    exchange: Mapping[str, Any]


def connect_path(module: str, role_id: UUID | None) -> str:
    """Where an account is connected again. One that a role shares, for the role: else whoever follows the link would
    connect their own."""
    return f"/connect/{module}?role={role_id}" if role_id else f"/connect/{module}"


def meaning(cause: str, state: State = State.NEEDS_RECONNECT) -> str:
    """A cause in a sentence for people. One word means two things: that our row, or that the vendor's answer cannot be
    read."""
    if cause == UNREADABLE and state is not State.NEEDS_RECONNECT:
        return MEANINGS[cause]
    return _OWN_MEANINGS.get(cause) or MEANINGS.get(cause) or "the vendor refuses, and gives no reason that we know"


async def standings(
    work: UnitOfWork,
    *,
    user_id: UUID | None = None,
    role_ids: Sequence[UUID] = (),
    credential_id: UUID | None = None,
    after: tuple[str, UUID] | None = None,
    limit: int = MOST_SHOWN,
) -> list[Standing]:
    """The tenant's credentials by module and id; only one user's own and those of `role_ids`, only one, or those
    `after` a module and id."""
    module, last = after or (None, None)
    wanted = user_id, list(role_ids), credential_id, module, last, limit
    return [_standing(row) for row in await work.fetch(_STANDINGS, *wanted)]


def unconnected(module: str, user_id: UUID, owner: str) -> Standing:
    """A module that a user may use, for which there is neither a credential of theirs nor a shared one."""
    link = f"/connect/{module}"
    return Standing(
        None, module, "", "personal", owner, "", State.NEEDS_CONNECT, "", "", Who.OWNER, link, None, user_id
    )


def needing(one: Standing, cause: str) -> Standing:
    """The same, found to be worth nothing until it is connected again."""
    state = State.NEEDS_RECONNECT
    return replace(one, state=state, cause=cause, meaning=meaning(cause), who=_who(state, one.kind), again_at=None)


async def history(work: UnitOfWork, credential_id: UUID) -> list[Happened]:
    """The last events of the account behind a credential, the newest first; of a pasted key there are none."""
    rows = await work.fetch(_HISTORY, credential_id)
    return [Happened(row["at"], row["kind"], row["class"], orjson.loads(row["detail"])) for row in rows]


def _standing(row: Row) -> Standing:
    state, cause = _diagnosis(row)
    return Standing(
        id=row["id"],
        module=row["module"],
        provider=row["provider"] or "",
        kind=row["kind"],
        owner=row["owner"],
        account=row["account"],
        state=state,
        cause=cause,
        meaning=meaning(cause, state) if cause else "",
        who=_who(state, row["kind"]),
        link=CLIENTS if state is State.SERVICE_MISCONFIGURED else connect_path(row["module"], row["role_id"]),
        again_at=row["again_at"] if cause and state in _PASSING else None,
        owner_id=row["owner_id"],
        scopes=tuple(row["scopes"]),
    )


def _diagnosis(row: Row) -> tuple[State, str]:
    if row["type"] == "A" and row["state"] != "ok":
        return State.NEEDS_RECONNECT, row["cause"]
    if row["in_doubt"]:
        return State.REFUSED, IN_DOUBT
    if row["type"] == "A":
        return State.CONNECTED, ""
    if row["status"] == "needs_reauth":
        return State.NEEDS_RECONNECT, row["reason"]
    if row["status"] == "disabled":
        return State.DISABLED, "disabled"
    if row["misconfigured"]:
        return State.SERVICE_MISCONFIGURED, row["client_cause"]
    if row["refreshing"]:
        return State.REFRESHING, ""
    return _last_attempt(row)


def _last_attempt(row: Row) -> tuple[State, str]:
    """What the last refresh that got no token says of now: it is due again, and that is not over until it succeeds."""
    match row["last_error_class"]:
        case "permanent":  # and its owner is not asked to come back: it is one of many
            return State.VENDOR_DOWN, "permanent"
        case "not_sent" | "throttled" as cls:
            return State.VENDOR_DOWN, row["last_reason"] or cls
        case "uncertain" as cls:
            state = State.VENDOR_DOWN if row["attempt_no"] >= PATIENCE else State.REFRESHING
            return state, row["last_reason"] or cls
        case _:
            return (State.REFRESHING, "uncertain") if row["cut_off"] else (State.CONNECTED, row["warning"])


_PASSING = (State.REFRESHING, State.REFUSED, State.VENDOR_DOWN, State.SERVICE_MISCONFIGURED)


def _who(state: State, kind: CredentialKind) -> Who:
    if state is State.NEEDS_RECONNECT:
        return Who.OWNER if kind == "personal" else Who.ADMINISTRATOR
    return Who.ADMINISTRATOR if state in (State.SERVICE_MISCONFIGURED, State.DISABLED) else Who.NOBODY


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
