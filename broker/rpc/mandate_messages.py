"""The messages about mandates, as JSON: a gateway makes and ends them, a worker presents them."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec

from broker.interface import LeaseRequest, MandatePurpose, MandateReference, MandateRequest
from broker.rpc.codec import decode_message
from core.secret import Secret


class MandateCreation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Asks for a mandate."""

    subject_token: str
    purpose: MandatePurpose
    purpose_id: UUID
    title: str
    tools: tuple[tuple[str, str], ...]
    expires_at: Annotated[datetime, msgspec.Meta(tz=True)]


class MandateQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names a mandate: to ask whom it speaks for, or to end it."""

    mandate_id: UUID
    purpose_id: UUID


class MandateExchange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Asks for a lease by a mandate."""

    mandate_id: UUID
    purpose_id: UUID
    module: str
    tool: str
    rejected_version: int | None


class MandateEnd(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Says that a mandate has ended."""


def encode_mandate_request(request: MandateRequest) -> bytes:
    """The body that asks for a mandate."""
    subject = request.subject.reveal()
    work = (request.purpose, request.purpose_id, request.title)
    return msgspec.json.encode(MandateCreation(subject, *work, request.tools, request.expires_at))


def decode_mandate_request(body: bytes) -> MandateRequest:
    """The mandate that is asked for.

    Raises:
        MalformedMessage: as the name says.
    """
    request = decode_message(body, MandateCreation)
    work = (request.purpose, request.purpose_id, request.title)
    return MandateRequest(Secret(request.subject_token), *work, request.tools, request.expires_at)


def encode_reference(reference: MandateReference) -> bytes:
    """The body that names a mandate."""
    return msgspec.json.encode(MandateQuestion(reference.mandate_id, reference.purpose_id))


def decode_reference(body: bytes) -> MandateReference:
    """The mandate that is named.

    Raises:
        MalformedMessage: as the name says.
    """
    question = decode_message(body, MandateQuestion)
    return MandateReference(question.mandate_id, question.purpose_id)


def encode_worker_lease_request(reference: MandateReference, request: LeaseRequest) -> bytes:
    """The body that asks for a lease by a mandate."""
    tool = (request.module, request.tool, request.rejected_version)
    return msgspec.json.encode(MandateExchange(reference.mandate_id, reference.purpose_id, *tool))


def decode_worker_lease_request(body: bytes) -> LeaseRequest:
    """The lease that is asked for by a mandate.

    Raises:
        MalformedMessage: as the name says.
    """
    request = decode_message(body, MandateExchange)
    reference = MandateReference(request.mandate_id, request.purpose_id)
    return LeaseRequest(reference, request.module, request.tool, request.rejected_version)


def encode_mandate_end() -> bytes:
    """The body that says that a mandate has ended."""
    return msgspec.json.encode(MandateEnd())


def decode_mandate_end(body: bytes) -> None:
    """Check that a body says that a mandate has ended.

    Raises:
        MalformedMessage: it does not.
    """
    decode_message(body, MandateEnd)
