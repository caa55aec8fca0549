"""Events of the audit log and their kinds."""

import itertools
import os
import struct
from enum import StrEnum
from uuid import UUID

import msgspec

DEPLOYMENT_CHAIN = UUID(int=0)
"""The chain of events that belong to no tenant."""


class AuditEventKind(StrEnum):
    """Kind of an audit event. An event that is read may have a kind of a newer version."""

    CALL_INTENT = "call.intent"
    CALL_OUTCOME = "call.outcome"
    DENIED = "call.denied"
    """A hidden or made-up tool was named: the signal of attack."""

    AUTH_REFUSED = "auth.refused"
    AUTH_MALFORMED = "auth.malformed"
    """Aggregated: one event a minute at most, `detail["count"]` says how many."""

    TOKEN_CREATED = "token.created"  # noqa: S105 the name of an event
    TOKEN_REVOKED = "token.revoked"  # noqa: S105 the name of an event

    TENANT_CREATED = "tenant.created"
    TENANT_CHANGED = "tenant.changed"
    TENANT_SUSPENDED = "tenant.suspended"
    TENANT_RESUMED = "tenant.resumed"
    TENANT_REMOVED = "tenant.removed"
    USER_CREATED = "user.created"
    USER_CHANGED = "user.changed"
    PROFILE_CHANGED = "profile.changed"
    """By the user themselves."""
    USER_SUSPENDED = "user.suspended"
    USER_RESUMED = "user.resumed"
    USER_REMOVED = "user.removed"
    ROLE_CREATED = "role.created"
    ROLE_CHANGED = "role.changed"
    ROLE_REMOVED = "role.removed"
    ROLE_ASSIGNED = "role.assigned"
    ROLE_UNASSIGNED = "role.unassigned"
    ROLE_MAPPING_ADDED = "role_mapping.added"
    ROLE_MAPPING_REMOVED = "role_mapping.removed"
    GROUP_CREATED = "group.created"
    GROUP_CHANGED = "group.changed"
    GROUP_REMOVED = "group.removed"
    PERMISSION_ALLOWED = "permission.allowed"
    PERMISSION_DENIED = "permission.denied"
    PERMISSION_REMOVED = "permission.removed"
    ACCESS_REQUESTED = "access_request.created"
    ACCESS_REQUEST_WITHDRAWN = "access_request.withdrawn"
    ACCESS_REQUEST_APPROVED = "access_request.approved"
    ACCESS_REQUEST_DECLINED = "access_request.declined"
    ACCESS_REQUEST_REOPENED = "access_request.reopened"
    JOB_CANCELLED = "job.cancelled"
    JOB_RETRIED = "job.retried"
    SCHEDULE_CHANGED = "schedule.changed"
    SCHEDULE_PAUSED = "schedule.paused"
    SCHEDULE_RESUMED = "schedule.resumed"
    SCHEDULE_RUN = "schedule.run"
    SCHEDULE_DELETED = "schedule.deleted"
    SERVICE_ENABLED = "service.enabled"
    SERVICE_DISABLED = "service.disabled"
    SERVICE_CHANGED = "service.changed"
    SERVICE_REMOVED = "service.removed"

    KEY_CREATED = "key.created"
    KEY_ROTATED = "key.rotated"
    KEY_RETIRED = "key.retired"
    OPERATOR_MIGRATED = "operator.migrated"
    OPERATOR_BACKUP = "operator.backup"
    OPERATOR_RESTORE = "operator.restore"
    OPERATOR_ADOPTED = "operator.adopted"
    AUDIT_DROPPED = "audit.dropped"
    AUDIT_EXPORTED = "audit.exported"
    AUDIT_RETENTION_SET = "audit_retention.set"
    AUDIT_RETENTION_REMOVED = "audit_retention.removed"
    AUDIT_STREAM_SET = "audit_stream.set"
    AUDIT_STREAM_REMOVED = "audit_stream.removed"
    AUDIT_LOST = "audit.lost"
    AUDIT_UNREADABLE = "audit.unreadable"
    CREDENTIAL_CREATED = "credential.created"
    CREDENTIAL_REPLACED = "credential.replaced"
    CREDENTIAL_REMOVED = "credential.removed"
    CREDENTIAL_BROKEN = "credential.broken"
    CREDENTIAL_RECOVERED = "credential.recovered"
    """The vendor takes one again that it had refused."""
    ACCOUNT_CONNECTED = "account.connected"
    ACCOUNT_DISCONNECTED = "account.disconnected"
    CONNECT_STARTED = "connect.started"
    CONNECT_CANCELLED = "connect.cancelled"
    CONNECT_REFUSED = "connect.refused"
    """A browser brought an answer that belongs to no flow of its own: the signal of an attack, or of a late click."""
    TENANT_KEY_SET = "tenant_key.set"
    TENANT_KEY_REMOVED = "tenant_key.removed"
    OAUTH_CLIENT_SET = "oauth_client.set"
    OAUTH_CLIENT_REMOVED = "oauth_client.removed"
    PROVIDER_SET = "provider.set"
    PROVIDER_REMOVED = "provider.removed"
    IDENTITY_PROVIDER_SET = "identity_provider.set"
    IDENTITY_PROVIDER_REMOVED = "identity_provider.removed"
    NOTIFICATION_SENDER_SET = "notification_sender.set"
    CLIENT_TRUST_SET = "client_trust.set"
    CLIENT_TRUST_REMOVED = "client_trust.removed"
    NOTIFICATIONS_CHANGED = "notifications.changed"
    NOTIFICATION_SENDER_REMOVED = "notification_sender.removed"

    SIGN_IN = "sign_in"
    SIGN_IN_REFUSED = "sign_in.refused"
    SESSION_ENDED = "session.ended"
    LINK_CREATED = "link.created"
    IDENTITY_LINKED = "identity.linked"
    IDENTITY_UNLINKED = "identity.unlinked"
    ALLOW_LIST_ADDED = "allow_list.added"
    ALLOW_LIST_REMOVED = "allow_list.removed"
    CLIENT_CREATED = "client.created"
    CLIENT_CHANGED = "client.changed"
    CLIENT_REMOVED = "client.removed"
    CLIENT_DOCUMENT_REFUSED = "client_document.refused"
    ISSUER_TRUSTED = "issuer.trusted"
    ISSUER_REMOVED = "issuer.removed"
    CONSENT_GIVEN = "consent.given"
    GRANT_CREATED = "grant.created"
    GRANT_REVOKED = "grant.revoked"
    """`detail["cause"]` says why; `reuse` and `code_replay` are signals of attack."""
    MANDATE_CREATED = "mandate.created"
    MANDATE_CONSENTED = "mandate.consented"
    MANDATE_USED = "mandate.used"
    """For the first time."""
    MANDATE_REVOKED = "mandate.revoked"
    MANDATE_ENDED = "mandate.ended"
    """`detail["cause"]` says why."""


class CallOutcome(StrEnum):
    """Outcome of a call. `UNKNOWN` and `PENDING` are never written: readers derive them from a missing outcome."""

    OK = "ok"
    ERROR = "error"
    DENIED = "denied"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"
    UNKNOWN = "unknown"
    PENDING = "pending"


_CALL_OUTCOME = AuditEventKind.CALL_OUTCOME
_PROCESS = os.urandom(8)
_numbers = itertools.count(int.from_bytes(os.urandom(7), "big"))
_pack_number = struct.Struct(">Q").pack


def _new_id() -> bytes:
    """Unique, and cheaper than sixteen random bytes for each: random for the process, then counted."""
    return _PROCESS + _pack_number(next(_numbers))


class AuditEvent(msgspec.Struct, array_like=True, frozen=True, kw_only=True, gc=False):
    """One record of the log. It is stored as an array: new fields go to the end, and old ones stay.

    Texts that are too long are cut when the event is written or sealed (see core.audit.truncation).
    """

    # gc=False: plain values make no cycle, and looking through a batch of a thousand took the collector 1.5 ms.

    at: int
    """Nanoseconds since 1970. An outcome has the time of its intent; it ended `duration_us` later."""
    kind: str
    tenant_id: UUID | None = None
    """None for what belongs to the whole deployment, such as malformed tokens."""
    user_id: UUID | None = None
    credential_id: str = ""
    client: str = ""
    request_id: str = ""
    module: str = ""
    tool: str = ""
    outcome: str = ""
    duration_us: int = 0
    digest: bytes = b""
    """Keyed digest of a call's arguments (core.audit.digest)."""
    arguments: bytes | None = None
    """JSON; None unless the tenant records arguments."""
    detail: dict[str, str | int] | None = None
    actor: str = ""
    """Who administers: a user's id, or the operator."""
    id: bytes = msgspec.field(default_factory=_new_id)
    """By this the sealer knows a record that was written twice."""
    intent: bytes | None = None
    """An outcome's intent."""


def build_intent_event(
    template: AuditEvent,
    at: int,
    request_id: str,
    client: str,
    digest: bytes,
    arguments: bytes | None = None,
    detail: dict[str, str | int] | None = None,
) -> AuditEvent:
    """Build the intent of one call, with an id of its own: caller and tool are those of `template`."""
    return msgspec.structs.replace(
        template,
        at=at,
        client=client,
        request_id=request_id,
        digest=digest,
        arguments=arguments,
        detail=detail,
        id=_new_id(),
    )


def build_outcome_event(
    intent: AuditEvent, outcome: str, duration_us: int, detail: dict[str, str | int] | None = None
) -> AuditEvent:
    """Build the outcome of the call that `intent` announced; caller and tool stand in the intent only."""
    return AuditEvent(
        at=intent.at,
        kind=_CALL_OUTCOME,
        tenant_id=intent.tenant_id,
        request_id=intent.request_id,
        outcome=outcome,
        duration_us=duration_us,
        detail=detail,
        intent=intent.id,
    )
