"""The hash chain of one tenant: each event's hash covers all its fields and the hash before it."""

import hashlib
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import msgspec

from core.audit.truncation import to_microseconds

GENESIS_HASH = bytes(32)
"""What the first event of a chain follows."""

CHAIN_FORMAT = 1
_encode = msgspec.json.Encoder(order="deterministic").encode


class SealedEvent(NamedTuple):
    """A sealed event as it stands in `audit.events`, without its hash."""

    tenant_id: UUID
    seq: int
    sealed_at: datetime
    at: datetime
    id: bytes
    intent: bytes | None
    kind: str
    user_id: UUID | None
    credential_id: str
    client: str
    request_id: str
    module: str
    tool: str
    outcome: str
    duration_us: int
    digest: bytes
    arguments: bytes | None
    detail: dict[str, str | int] | None
    actor: str


def hash_event(previous: bytes, entry: SealedEvent) -> bytes:
    """Hash the entry: SHA-256 over one compact JSON array in UTF-8, the keys of `detail` in order.

    Times are microseconds since 1970; bytes are lower-case hexadecimal; the last element is the hash before.
    """
    fields = [
        CHAIN_FORMAT,
        str(entry.tenant_id),
        entry.seq,
        to_microseconds(entry.sealed_at),
        to_microseconds(entry.at),
        entry.id.hex(),
        _hex(entry.intent),
        entry.kind,
        None if entry.user_id is None else str(entry.user_id),
        entry.credential_id,
        entry.client,
        entry.request_id,
        entry.module,
        entry.tool,
        entry.outcome,
        entry.duration_us,
        entry.digest.hex(),
        _hex(entry.arguments),
        entry.detail,
        entry.actor,
        previous.hex(),
    ]
    return hashlib.sha256(_encode(fields)).digest()


def _hex(data: bytes | None) -> str | None:
    return None if data is None else data.hex()
