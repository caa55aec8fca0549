"""The messages between a control plane in a process of its own and the broker, as JSON."""

from typing import Literal, TypeVar
from uuid import UUID

import msgspec

from broker.interface import JobToRetry, RefusalReason
from broker.rpc.codec import MalformedMessage
from core.api.principal import Principal
from core.connection_state import UserConnection
from core.directory.account_revocation import RevocationResult
from core.directory.audit_trail import Actor
from core.directory.scim import ScimCaller

CHECK = "/v1/console/check"
AUTHENTICATE = "/v1/console/authenticate"
SCIM = "/v1/console/scim"
REVOKE = "/v1/console/revoke-accounts"
CONNECTIONS = "/v1/console/connections"
RETRY = "/v1/console/permit-retry"
CONSOLE_PATHS = (CHECK, AUTHENTICATE, SCIM, REVOKE, CONNECTIONS, RETRY)

_Message = TypeVar("_Message")


class CheckRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Asks whether the broker answers this control plane."""


class AuthenticationRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Asks for whom a request of the admin API speaks: its headers, and the address that it came from."""

    authorization: list[str]
    cookie: list[str]
    address: str
    passive: bool


class ScimRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Asks for whom a SCIM token speaks."""

    token: str


class RevocationRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Asks to end the accounts of a user, a role, or a whole tenant, before their rows go."""

    actor: Actor
    tenant_id: UUID
    user_id: UUID | None
    role_id: UUID | None


class ConnectionsRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Asks for the connections of one user."""

    tenant_id: UUID
    user_id: UUID


class RetryRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Asks for the mandate of a job that is run once more by whoever sent a request of the admin API."""

    sender: AuthenticationRequest
    job: JobToRetry


class Refusal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why a request of the admin API is not let in."""

    kind: Literal["unauthenticated", "limit_reached"]
    message: str
    retry_after: float = 0.0


class ConsoleResponse(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Response of the broker; at most one field is set."""

    principal: Principal | None = None
    scim_caller: ScimCaller | None = None
    revoked: list[RevocationResult] | None = None
    connections: dict[str, UserConnection] | None = None
    mandate_id: UUID | None = None
    no_mandate: RefusalReason | None = None
    refused: Refusal | None = None


def encode_message(message: msgspec.Struct) -> bytes:
    """Encode a request or a response."""
    return msgspec.json.encode(message)


def decode_message(body: bytes, kind: type[_Message]) -> _Message:
    """Decode a message of one kind.

    Raises:
        MalformedMessage: it is not one.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise MalformedMessage from None
