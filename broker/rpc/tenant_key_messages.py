"""The messages about tenant keys, as JSON."""

from uuid import UUID

import msgspec

from broker.interface import CredentialRefusal, MandateReference, NoTenantKey, TenantKeyLease
from broker.rpc.codec import MalformedMessage, decode_message
from core.secret import Secret

TenantKeyResult = TenantKeyLease | NoTenantKey | CredentialRefusal


class TenantKeyQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Asks for a tenant's key in a person's name."""

    subject_token: str
    kind: str


class TenantKeyMandateQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Asks for a tenant's key by a mandate."""

    mandate_id: UUID
    purpose_id: UUID
    kind: str


class TenantKeyPayload(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tenant's key as it travels."""

    key: str
    expires_in: float
    origins: tuple[str, ...]


class TenantKeyResponse(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Response of the broker; exactly one field is set."""

    lease: TenantKeyPayload | None = None
    no_key: NoTenantKey | None = None
    refused: CredentialRefusal | None = None


def encode_tenant_key_request(subject: Secret, kind: str) -> bytes:
    """The body that asks for a tenant's key in the name of `subject`."""
    return msgspec.json.encode(TenantKeyQuestion(subject.reveal(), kind))


def decode_tenant_key_request(body: bytes) -> tuple[Secret, str]:
    """The subject and the kind of key that are asked about.

    Raises:
        MalformedMessage: as the name says.
    """
    question = decode_message(body, TenantKeyQuestion)
    return Secret(question.subject_token), question.kind


def encode_worker_tenant_key_request(reference: MandateReference, kind: str) -> bytes:
    """The body that asks for a tenant's key by a mandate."""
    return msgspec.json.encode(TenantKeyMandateQuestion(reference.mandate_id, reference.purpose_id, kind))


def decode_worker_tenant_key_request(body: bytes) -> tuple[MandateReference, str]:
    """The mandate and the kind of key that are asked about.

    Raises:
        MalformedMessage: as the name says.
    """
    question = decode_message(body, TenantKeyMandateQuestion)
    return MandateReference(question.mandate_id, question.purpose_id), question.kind


def encode_tenant_key_result(outcome: TenantKeyResult) -> bytes:
    """The body of an answer."""
    match outcome:
        case TenantKeyLease():
            payload = TenantKeyPayload(outcome.key.reveal(), outcome.expires_in, outcome.origins)
            answer = TenantKeyResponse(lease=payload)
        case NoTenantKey():
            answer = TenantKeyResponse(no_key=outcome)
        case CredentialRefusal():
            answer = TenantKeyResponse(refused=outcome)
    return msgspec.json.encode(answer)


def decode_tenant_key_result(body: bytes) -> TenantKeyResult:
    """Decode a response of the broker.

    Raises:
        MalformedMessage: it is not one of ours.
    """
    answer = decode_message(body, TenantKeyResponse)
    lease = answer.lease and TenantKeyLease(Secret(answer.lease.key), answer.lease.expires_in, answer.lease.origins)
    results = [field for field in (lease, answer.no_key, answer.refused) if field is not None]
    if len(results) != 1:
        raise MalformedMessage
    return results[0]
