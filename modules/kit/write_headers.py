"""Headers of requests that change something: only if it is unchanged (If-Match, RFC 9110 §13.1.1), and only once
(Idempotency-Key), for vendors whose documentation names them."""

import hashlib
import re
from typing import Annotated, Any

import orjson
from pydantic import AfterValidator, Field

from modules.kit.parameters import OptionalParameter, limit_length

_ETAG = re.compile(r'(?:W/)?"?[\x21\x23-\x7e]{1,200}"?', re.ASCII)


def _check_etag(text: str) -> str:
    if not _ETAG.fullmatch(text):
        raise ValueError("is no etag: give the one that was read, unchanged")
    return text if text.endswith('"') else f'"{text}"'


Etag = Annotated[
    OptionalParameter[Annotated[str, limit_length(maximum=256), AfterValidator(_check_etag)]],
    Field(description="Only if unchanged"),
]
"""Parameter of a tool that changes only the version that was read: the vendor refuses it for a newer one."""


def build_if_match(etag: str | None) -> dict[str, str] | None:
    """Build the headers that hold a change to one version; None without an etag."""
    return {"If-Match": etag} if etag else None


def build_idempotency_key(*parts: Any) -> dict[str, str]:
    """Build the headers by which a vendor does the same thing once, however often it is asked for: a key of the
    content, so that a model that sends the same change again means the same one. `parts` are plain JSON values, the
    whole content among them."""
    return {"Idempotency-Key": hashlib.sha256(orjson.dumps(parts)).hexdigest()}
