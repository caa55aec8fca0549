"""The messages between gateway and broker, as JSON. Here, and nowhere else, a secret becomes text on a wire."""

from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from broker.interface import Lease, LeaseRequest, NoCredential, Refused
from core.caller import Credential
from core.connection import Connection, CredentialKind
from core.credential_headers import CredentialScheme
from core.secret import Secret

VERIFY = "/v1/verify"
STATUS = "/v1/status"
EXCHANGE = "/v2/token-exchange"
"""Its number is raised when a lease gets a field that a gateway must not pass over: one of another version then gets no
token at all, and the log says why."""
PATHS = (VERIFY, STATUS, EXCHANGE)
MOST_REQUEST = 64 * 1024
MOST_ANSWER = 256 * 1024


_Message = TypeVar("_Message")


class Malformed(Exception):
    """Not a message of ours. Says nothing of what it was, which may hold a secret."""


class Subject(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Asks for whom a token speaks, or how their modules stand."""

    subject_token: str


class Exchange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Asks for a lease."""

    subject_token: str
    module: str
    tool: str
    rejected_version: int | None = None


class WireLease(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the broker says: exactly one of these."""

    credential: Credential | None = None
    connections: dict[str, Connection] | None = None
    lease: WireLease | None = None
    no_credential: NoCredential | None = None
    refused: Refused | None = None


Outcome = Credential | Mapping[str, Connection] | Lease | NoCredential | Refused


def asked_subject(subject: Secret) -> bytes:
    """The body that asks about a token."""
    return msgspec.json.encode(Subject(subject.reveal()))


def asked_lease(request: LeaseRequest) -> bytes:
    """The body that asks for a lease."""
    subject = request.subject.reveal()
    return msgspec.json.encode(Exchange(subject, request.module, request.tool, request.rejected_version))


def read_subject(body: bytes) -> Secret:
    """The token that is asked about.

    Raises:
        Malformed: as the name says.
    """
    return Secret(_read(body, Subject).subject_token)


def read_lease(body: bytes) -> LeaseRequest:
    """The lease that is asked for.

    Raises:
        Malformed: as the name says.
    """
    said = _read(body, Exchange)
    return LeaseRequest(Secret(said.subject_token), said.module, said.tool, said.rejected_version)


def answered(outcome: Outcome) -> bytes:
    """The body of an answer."""
    match outcome:
        case Credential():
            answer = Answer(credential=outcome)
        case Lease():
            answer = Answer(lease=_wired(outcome))
        case NoCredential():
            answer = Answer(no_credential=outcome)
        case Refused():
            answer = Answer(refused=outcome)
        case _:
            answer = Answer(connections=dict(outcome))
    return msgspec.json.encode(answer)


def read_answer(body: bytes) -> Outcome:
    """What the broker said.

    Raises:
        Malformed: it is not one of ours.
    """
    answer = _read(body, Answer)
    lease = None if answer.lease is None else _unwired(answer.lease)
    said = [answer.credential, answer.connections, lease, answer.no_credential, answer.refused]
    given: list[Outcome] = [one for one in said if one is not None]
    if len(given) != 1:
        raise Malformed
    return given[0]


def _read(body: bytes, kind: type[_Message]) -> _Message:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Malformed from None


def _wired(lease: Lease) -> WireLease:
    return WireLease(
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


def _unwired(lease: WireLease) -> Lease:
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
