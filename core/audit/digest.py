"""A keyed digest of a call's arguments: equal arguments are recognised, and they cannot be guessed from it."""

import hashlib
from typing import Any
from uuid import UUID

from core.secret import Secret

DIGEST_BYTES = 32


def compute_argument_digest(key: Secret, tenant_id: UUID, arguments_json: bytes) -> bytes:
    """Compute the digest of a call's arguments, :func:`create_argument_hasher` says how; 32 bytes.

    Raises:
        ValueError: as :func:`create_argument_hasher`.
    """
    hasher = create_argument_hasher(key, tenant_id)
    hasher.update(arguments_json)
    return hasher.digest()


def create_argument_hasher(key: Secret, tenant_id: UUID) -> Any:
    """Create the hasher for a tenant's arguments (an object of :mod:`hashlib`, to be copied for each call).

    BLAKE2b keyed with the deployment's digest key (32 to 64 bytes of text), bound to the tenant.

    A plain hash of short arguments could be found by trying; equal arguments of two tenants differ here.

    Raises:
        ValueError: the key is shorter than 32 or longer than 64 bytes.
    """
    secret = key.reveal().encode()
    if len(secret) < DIGEST_BYTES:
        raise ValueError("the digest key has fewer than 32 bytes")
    return hashlib.blake2b(digest_size=DIGEST_BYTES, key=secret, salt=tenant_id.bytes, person=b"mcpist-arguments")
