"""Parsing of forms, queries and addresses of requests: everything has a limit, and no parameter may come twice."""

import asyncio
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl

from starlette.requests import Request

from core.errors import Invalid
from core.http.trusted_proxies import TrustedProxies

MAX_BODY_BYTES = 64 * 1024
MAX_QUERY_BYTES = 16 * 1024
MAX_FIELDS = 50
BODY_SECONDS = 10.0
FORM_MEDIA_TYPE = "application/x-www-form-urlencoded"


async def read_body(request: Request, *, most: int = MAX_BODY_BYTES) -> bytes:
    """The whole body.

    Raises:
        Invalid: it is larger than `most` bytes, or did not come within ten seconds.
    """
    parts = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                parts += part
                if len(parts) > most:
                    raise Invalid(f"the request is too large; send at most {most} bytes")
    except TimeoutError:
        raise Invalid("the request did not arrive in time; send it again") from None
    return bytes(parts)


async def read_form(
    request: Request, *, most: int = MAX_BODY_BYTES, most_fields: int = MAX_FIELDS
) -> Mapping[str, str]:
    """The fields of a form, ``application/x-www-form-urlencoded``.

    Raises:
        Invalid: another type, too large or slow, a field twice (RFC 6749 §3.1), or no valid UTF-8.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM_MEDIA_TYPE:
        raise Invalid(f"send a form with Content-Type: {FORM_MEDIA_TYPE}")
    return parse_fields(await read_body(request, most=most), most_fields)


def read_query(request: Request, *, most_fields: int = MAX_FIELDS) -> Mapping[str, str]:
    """The parameters of the URL.

    Raises:
        Invalid: too long, a parameter twice, or no valid UTF-8.
    """
    raw: bytes = request.scope["query_string"]
    if len(raw) > MAX_QUERY_BYTES:
        raise Invalid(f"the address is too long; send at most {MAX_QUERY_BYTES} bytes of parameters")
    return parse_fields(raw, most_fields)


def parse_fields(raw: bytes, most_fields: int = MAX_FIELDS) -> Mapping[str, str]:
    """Form-encoded bytes as a mapping.

    Raises:
        Invalid: too many, one twice, or no valid UTF-8.
    """
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=most_fields)
    except ValueError:  # also UnicodeDecodeError, whose text would repeat what was sent
        raise Invalid("the parameters of the request cannot be read; send form-encoded UTF-8") from None
    return _collect_unique(pairs)


def get_client_address(request: Request, proxies: TrustedProxies) -> str:
    """The caller's address, seen through trusted proxies; empty on a Unix socket."""
    peer = request.client.host if request.client else ""
    forwarded = ", ".join(request.headers.getlist("x-forwarded-for"))
    return proxies.client(peer, forwarded or None)


def _collect_unique(pairs: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    values: dict[str, str] = {}
    for name, value in pairs:
        if name in values:
            raise Invalid(f"the parameter {name[:40]!a} came twice; send it once")
        values[name] = value
    return values
