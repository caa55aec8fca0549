"""Failures of connecting, as keys of the messages (`problem.<key>`), and the principal that connects."""

from typing import Protocol
from uuid import UUID

from broker.oauth_client.error_classifier import ERROR_CODES
from broker.oauth_client.types import ErrorClass, VendorFailure
from broker.providers import error_reasons
from core.audit.event import AuditEventKind
from core.db import Database
from core.directory.audit_trail import Actor, audit_change


class ConnectPrincipal(Protocol):
    """Whoever it is for. `system_role` is that of this moment."""

    @property
    def tenant_id(self) -> UUID: ...

    @property
    def user_id(self) -> UUID: ...

    @property
    def system_role(self) -> str: ...

    @property
    def actor(self) -> Actor: ...


ACCESS_DENIED = "access_denied"
"""The one error at the callback that is the person's own decision (RFC 6749 §4.1.2.1)."""

_OURS = frozenset({ErrorClass.SERVICE})


class ConnectError(Exception):
    """Nothing was connected. `key` names the text for the person, `cause` is a word for the audit log; neither holds
    anything that a vendor or a browser has said. `module` is where the person can start again, and `role_id` whom it
    was to be shared with."""

    def __init__(self, key: str, cause: str = "", *, title: str = "", module: str = "") -> None:
        super().__init__(key)
        self.key = key
        self.cause = cause or key
        self.title = title
        self.module = module
        self.role_id: UUID | None = None


async def audit_refusal(
    database: Database, person: ConnectPrincipal, refused: ConnectError, provider: str
) -> ConnectError:
    """The refusal, written to the audit log: these are what an attack looks like."""
    async with database.tenant(person.tenant_id) as work:
        detail = {"provider": provider[:40], "cause": refused.cause}
        await audit_change(work, person.actor, AuditEventKind.CONNECT_REFUSED, **detail)
    return refused


def get_message_key(failed: VendorFailure) -> str:
    """The text for what a token endpoint has answered."""
    if failed.error_class in _OURS:
        return "connect_setup"
    if failed.error_class is ErrorClass.PERMANENT:
        return "connect_code"
    return "connect_away"


def classify_callback_error(error: str) -> tuple[str, str]:
    """The text for an error that the browser has brought back, and our word for it. Whoever has a browser can bring
    one, so nothing is concluded from it about the client."""
    cls, reason = ERROR_CODES.get(error, (ErrorClass.SERVICE, error_reasons.REFUSED))
    if cls in _OURS:
        return "connect_refused", reason
    return ("connect_code" if cls is ErrorClass.PERMANENT else "connect_away"), reason
