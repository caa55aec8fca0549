"""The messages between gateway and broker, as JSON. Here, and nowhere else, a secret becomes text on a wire."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar
from uuid import UUID

import msgspec

from broker.interface import CredentialRefusal, Lease, LeaseRequest, Mandate, NoCredential
from core.caller import Credential
from core.connection_state import CredentialKind, ModuleConnection
from core.http.credential_headers import CredentialScheme
from core.secret import Secret

VERIFY = "/v1/verify"
VERIFY_AGAIN = "/v1/verify-again"
STATUS = "/v1/status"
EXCHANGE = "/v2/token-exchange"
"""Its number is raised when a lease gets a field that a gateway must not pass over: one of another version then gets no
token at all, and the log says why."""
TENANT_KEY = "/v1/tenant-key"
CREATE_MANDATE = "/v1/mandates/create"
END_MANDATE = "/v1/mandates/end"
PATHS = (VERIFY, VERIFY_AGAIN, STATUS, EXCHANGE, TENANT_KEY, CREATE_MANDATE, END_MANDATE)
"""Served to gateways."""

WORKER_VERIFY = "/v1/worker/verify-mandate"
WORKER_EXCHANGE = "/v1/worker/token-exchange"
WORKER_TENANT_KEY = "/v1/worker/tenant-key"
WORKER_PATHS = (WORKER_VERIFY, WORKER_EXCHANGE, WORKER_TENANT_KEY)
"""Served to workers. The number of their exchange is raised as that of the gateways' is."""

MOST_REQUEST = 64 * 1024
MOST_ANSWER = 256 * 1024
MAX_SUBJECTS = 128
"""Tokens of one request, and with them the credentials of one answer."""

_Message = TypeVar("_Message")


class MalformedMessage(Exception):
    """Not a message of ours. Says nothing of what it was, which may hold a secret."""


class SubjectRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Asks for whom a token speaks, or how their modules stand."""

    subject_token: str


class SubjectsRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Asks for whom tokens of one tenant speak."""

    tenant_id: UUID
    subject_tokens: Annotated[tuple[str, ...], msgspec.Meta(max_length=MAX_SUBJECTS)]


class TokenExchangeRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Asks for a lease."""

    subject_token: str
    module: str
    tool: str
    rejected_version: int | None = None


class LeasePayload(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A lease as it travels."""

    access_token: str
    version: int
    expires_in: float
    kind: CredentialKind
    credential_id: UUID
    settings: dict[str, Any]
    renewable: bool
    origins: tuple[str, ...]
    attributes: dict[str, str]
    scheme: CredentialScheme
    grant: str


class BrokerResponse(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Response of the broker; exactly one field is set."""

    credential: Credential | None = None
    connections: dict[str, ModuleConnection] | None = None
    lease: LeasePayload | None = None
    no_credential: NoCredential | None = None
    mandate: Mandate | None = None
    refused: CredentialRefusal | None = None


class CredentialsResponse(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whom tokens speak for, in the order of the request."""

    credentials: tuple[Credential | None, ...]


BrokerResult = Credential | Mapping[str, ModuleConnection] | Lease | NoCredential | Mandate | CredentialRefusal


def encode_subject_request(subject: Secret) -> bytes:
    """The body that asks about a token."""
    return msgspec.json.encode(SubjectRequest(subject.reveal()))


def encode_subjects_request(tenant_id: UUID, subjects: Sequence[Secret]) -> bytes:
    """Encode the body that asks about tokens of one tenant."""
    return msgspec.json.encode(SubjectsRequest(tenant_id, tuple(subject.reveal() for subject in subjects)))


def decode_subjects_request(body: bytes) -> tuple[UUID, Sequence[Secret]]:
    """Decode the tenant and the tokens that are asked about.

    Raises:
        MalformedMessage: they are none.
    """
    request = decode_message(body, SubjectsRequest)
    return request.tenant_id, [Secret(token) for token in request.subject_tokens]


def encode_credentials(credentials: Sequence[Credential | None]) -> bytes:
    """Encode the answer to a request about several tokens."""
    return msgspec.json.encode(CredentialsResponse(tuple(credentials)))


def decode_credentials(body: bytes, count: int) -> Sequence[Credential | None]:
    """Decode the answer to a request about `count` tokens.

    Raises:
        MalformedMessage: it is not one.
    """
    credentials = decode_message(body, CredentialsResponse).credentials
    if len(credentials) != count:
        raise MalformedMessage
    return credentials


def encode_lease_request(subject: Secret, request: LeaseRequest) -> bytes:
    """The body that asks for a lease in the name of `subject`."""
    tool = (request.module, request.tool, request.rejected_version)
    return msgspec.json.encode(TokenExchangeRequest(subject.reveal(), *tool))


def decode_subject_request(body: bytes) -> Secret:
    """The token that is asked about.

    Raises:
        Malformed: as the name says.
    """
    return Secret(decode_message(body, SubjectRequest).subject_token)


def decode_lease_request(body: bytes) -> LeaseRequest:
    """The lease that is asked for.

    Raises:
        Malformed: as the name says.
    """
    request = decode_message(body, TokenExchangeRequest)
    return LeaseRequest(Secret(request.subject_token), request.module, request.tool, request.rejected_version)


def encode_result(outcome: BrokerResult) -> bytes:
    """The body of an answer."""
    match outcome:
        case Credential():
            answer = BrokerResponse(credential=outcome)
        case Lease():
            answer = BrokerResponse(lease=_build_payload(outcome))
        case NoCredential():
            answer = BrokerResponse(no_credential=outcome)
        case Mandate():
            answer = BrokerResponse(mandate=outcome)
        case CredentialRefusal():
            answer = BrokerResponse(refused=outcome)
        case _:
            answer = BrokerResponse(connections=dict(outcome))
    return msgspec.json.encode(answer)


def decode_result(body: bytes) -> BrokerResult:
    """Decode a response of the broker.

    Raises:
        Malformed: it is not one of ours.
    """
    answer = decode_message(body, BrokerResponse)
    lease = None if answer.lease is None else _build_lease(answer.lease)
    fields = [answer.credential, answer.connections, lease, answer.no_credential, answer.mandate, answer.refused]
    results: list[BrokerResult] = [field for field in fields if field is not None]
    if len(results) != 1:
        raise MalformedMessage
    return results[0]


def decode_message(body: bytes, kind: type[_Message]) -> _Message:
    """Decode a message of one kind.

    Raises:
        MalformedMessage: it is not one.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise MalformedMessage from None


def _build_payload(lease: Lease) -> LeasePayload:
    return LeasePayload(
        lease.access_token.reveal(),
        lease.version,
        lease.expires_in,
        lease.kind,
        lease.credential_id,
        dict(lease.settings),
        lease.renewable,
        lease.origins,
        dict(lease.attributes),
        lease.scheme,
        lease.grant,
    )


def _build_lease(lease: LeasePayload) -> Lease:
    return Lease(
        Secret(lease.access_token),
        lease.version,
        lease.expires_in,
        lease.kind,
        lease.credential_id,
        lease.settings,
        lease.renewable,
        lease.origins,
        lease.attributes,
        lease.scheme,
        lease.grant,
    )
