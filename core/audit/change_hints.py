"""Hints of what changed, made of sealed audit events: what an event stream of the console sends (decision 64).

A hint says which resource of the admin API to read again, and holds nothing that it would answer. Its number is the
event's in the chain of its tenant, which is durable, without gaps, and the same on every process.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec

from core.db import Database, Row

MAX_HINTS_READ = 500
"""Events a read; whoever is further behind reads on, or everything again."""

RESOURCES: Mapping[str, str] = {
    "call": "audit",
    "auth": "audit",
    "audit": "audit",
    "audit_stream": "audit-stream",
    "audit_retention": "deployment/audit-retention",
    "tenant": "tenant",
    "user": "users",
    "profile": "me",
    "role": "roles",
    "permission": "roles",
    "access_request": "access-requests",
    "job": "jobs",
    "schedule": "schedules",
    "service": "services",
    "token": "tokens",
    "credential": "connections",
    "account": "connections",
    "connect": "connections",
    "tenant_key": "tenant-keys",
    "oauth_client": "oauth-clients",
    "provider": "providers",
    "sign_in": "sessions",
    "session": "sessions",
    "link": "sessions",
    "identity": "identities",
    "allow_list": "allow-list",
    "client": "oauth/clients",
    "client_document": "oauth/clients",
    "issuer": "oauth/issuers",
    "consent": "oauth/grants",
    "grant": "oauth/grants",
    "mandate": "mandates",
    "key": "keys",
    "identity_provider": "deployment/identity-providers",
    "notification_sender": "deployment/notification-senders",
    "client_trust": "deployment/client-trust",
    "notifications": "notification-settings",
    "role_mapping": "role-mappings",
}
"""Paths of the admin API by the first word of an event's kind."""
_FOR_EVERYBODY: Mapping[str, str] = {
    "tenant": "tools",
    "role": "tools",
    "permission": "tools",
    "service": "tools",
    "credential": "connections",
    "account": "connections",
}
"""What anybody's tools and connections may depend on, whoever did it: told without a kind or an id."""
_DEPLOYMENT_RESOURCES: Mapping[str, str] = {"tenant": "tenants"}
"""What stands for other paths in the chain of the deployment; calls and sign-ins of nobody are its audit log."""
_ID_DETAILS = ("request", "credential", "grant", "mandate", "session", "job", "schedule", "user")


@dataclass(frozen=True, slots=True)
class ChangeHint:
    """Something changed: `resource` is a path of the admin API, `kind` that of the audit event. `object_id` is empty
    where the event names none; `request_id` unless a request of the reader's own has done it.
    """

    seq: int
    resource: str
    kind: str = ""
    object_id: str = ""
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class HintReader:
    """Whoever reads hints. Administrators are told of everything in their tenant; other people of what they did, of
    what was done to them, and that their tools or connections may have changed.
    """

    user_id: UUID
    email: str
    is_administrator: bool

    def build_hint(self, event: "HintEvent") -> ChangeHint | None:
        """Build the hint of an event for this reader; None where it is not for them."""
        word = event.kind.partition(".")[0]
        resource = RESOURCES.get(word, "audit")
        if self.is_administrator or self._concerns(event):
            return ChangeHint(event.seq, resource, event.kind, event.object_id, self._find_own_request(event))
        if word in _FOR_EVERYBODY:
            return ChangeHint(event.seq, _FOR_EVERYBODY[word])
        return None

    def build_deployment_hint(self, event: "HintEvent") -> ChangeHint:
        """Build the hint of an event of the deployment's chain, for an operator."""
        word = event.kind.partition(".")[0]
        resource = _DEPLOYMENT_RESOURCES.get(word, RESOURCES.get(word, "audit"))
        path = "deployment/audit" if resource == "audit" else resource
        return ChangeHint(event.seq, path, event.kind, event.object_id, self._find_own_request(event))

    def _find_own_request(self, event: "HintEvent") -> str:
        return event.request_id if event.user_id == self.user_id else ""

    def _concerns(self, event: "HintEvent") -> bool:
        return event.user_id == self.user_id or not event.people.isdisjoint((str(self.user_id), self.email))


@dataclass(frozen=True, slots=True)
class HintEvent:
    """What hints are made of. `people` are texts of its details, by which it may name somebody."""

    seq: int
    kind: str
    user_id: UUID | None
    object_id: str
    people: frozenset[str]
    request_id: str = ""


async def load_hint_events(console: Database, tenant_id: UUID, after: int) -> list[HintEvent]:
    """Load the next events after number `after` of a tenant's chain, at most :data:`MAX_HINTS_READ`. The intent of a
    call is none of its own: its outcome is.

    Raises:
        core.errors.Unavailable: the database is away.
    """
    async with console.tenant(tenant_id) as work:
        return [_build_event(row) for row in await work.fetch(_NEXT, after, MAX_HINTS_READ)]


async def load_chain_range(console: Database, tenant_id: UUID) -> tuple[int, int]:
    """Load the numbers of the last event that is gone and of the newest one; 0 and 0 for an empty chain."""
    async with console.tenant(tenant_id) as work:
        row = await work.fetchrow(_RANGE)
    return (0, 0) if row is None else (row["base_seq"], row["seq"])


def _build_event(row: Row) -> HintEvent:
    detail: dict[str, Any] = {} if row["detail"] is None else msgspec.json.decode(row["detail"])
    ids = (str(detail[name]) for name in _ID_DETAILS if name in detail)
    texts = frozenset(value for value in detail.values() if isinstance(value, str))
    return HintEvent(row["seq"], row["kind"], row["user_id"], next(ids, ""), texts, row["request_id"])


_RANGE = "SELECT base_seq, seq FROM audit.heads WHERE tenant_id = $1"
# An outcome says nothing of its caller: that stands in the intent.
_NEXT = """SELECT e.seq, e.kind, e.detail, e.request_id, CASE WHEN e.kind = 'call.outcome' THEN (
        SELECT i.user_id FROM audit.events i WHERE i.tenant_id = $1 AND i.at = e.at AND i.id = e.intent
            AND i.sealed_at <= e.sealed_at LIMIT 1) ELSE e.user_id END AS user_id
    FROM audit.events e WHERE e.tenant_id = $1 AND e.seq > $2 AND e.kind <> 'call.intent'
    ORDER BY e.seq LIMIT $3"""
