"""The hash chain of one tenant: each event's hash covers all its fields and the hash before it."""

import hashlib
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

import msgspec

GENESIS_HASH = bytes(32)
"""What the first event of a chain follows."""

CHAIN_FORMAT = 1
_encode = msgspec.json.Encoder(order="deterministic").encode

format_uuid = lru_cache(4_096)(str)
"""Text of a UUID: those of tenants and users come a thousand times in a batch, and each takes 0.5 µs to make."""

ChainField = str | int | dict[str, str | int] | None


class SealedEvent(NamedTuple):
    """A sealed event as it stands in `audit.events`, without its hash; times are microseconds since 1970."""

    tenant_id: UUID
    seq: int
    sealed_at: int
    at: int
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


def build_fields(entry: SealedEvent) -> list[ChainField]:
    """Build what a hash covers of the event itself: the format, then every field in the order of `SealedEvent`.

    UUIDs are texts, bytes are lower-case hexadecimal.
    """
    return [
        CHAIN_FORMAT,
        format_uuid(entry.tenant_id),
        entry.seq,
        entry.sealed_at,
        entry.at,
        entry.id.hex(),
        _hex(entry.intent),
        entry.kind,
        None if entry.user_id is None else format_uuid(entry.user_id),
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
    ]


def hash_fields(previous: bytes, fields: list[ChainField]) -> bytes:
    """Hash what :func:`build_fields` gave: SHA-256 over one compact JSON array in UTF-8, the keys of `detail` in order,
    whose last element is the hash before."""
    return hashlib.sha256(_encode([*fields, previous.hex()])).digest()


def _hex(data: bytes | None) -> str | None:
    return None if data is None else data.hex()
