"""TLS in front of a test's PostgreSQL server, as its own does it: the wheel's server is built without."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from core.database_url import DatabaseAddress
from core.secret import Secret
from tests.support.certificates import SelfSigned

SSL_REQUEST = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"


@contextlib.asynccontextmanager
async def tls_in_front_of(
    upstream: DatabaseAddress, certificate: SelfSigned, *, clients: Path | None = None
) -> AsyncIterator[str]:
    """The URL of the same database by TCP and TLS (PostgreSQL, 54.2.11 SSL Session Encryption), without options.

    With `clients`, an authority's certificate, a login needs one of its certificates with the role as common name, and
    is refused as a server does with clientcert=verify-full (tests/core/test_client_certificates.py asks a real one).
    """
    url = urlsplit(upstream.url.reveal())
    host = parse_qs(url.query).get("host", [url.hostname or "127.0.0.1"])[0]
    context = certificate.server()
    if clients is not None:
        context.load_verify_locations(clients)
        context.verify_mode = ssl.CERT_OPTIONAL

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            assert await reader.readexactly(8) == SSL_REQUEST, "somebody came without TLS"
            writer.write(b"S")
            await writer.start_tls(context)
            start = await _read_start(reader)
            if clients is not None and (refusal := _find_refusal(start, writer.get_extra_info("peercert"))):
                writer.write(refusal)
                writer.close()
                return
            if host.startswith("/"):
                above = await asyncio.open_unix_connection(str(Path(host) / f".s.PGSQL.{url.port or 5432}"))
            else:
                above = await asyncio.open_connection(host, url.port or 5432)
            above[1].write(start)
            await asyncio.gather(_copy(reader, above[1]), _copy(above[0], writer))
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listener:
        port = listener.sockets[0].getsockname()[1]
        login = url.netloc.rpartition("@")[0]
        yield f"{url.scheme}://{login}@127.0.0.1:{port}{url.path}"


def at(url: str, options: str) -> DatabaseAddress:
    """The address with such options."""
    return DatabaseAddress(Secret(f"{url}?{options}"))


async def _read_start(reader: asyncio.StreamReader) -> bytes:
    """The first message, which has no type (54.7 StartupMessage)."""
    length = await reader.readexactly(4)
    return length + await reader.readexactly(int.from_bytes(length, "big") - 4)


def _find_refusal(start: bytes, shown: Any) -> bytes:
    """The answer to a login whose certificate is not its role's."""
    words = start[8:].split(b"\0")
    if b"user" not in words:
        return b""  # a request to cancel
    role = words[words.index(b"user") + 1].decode()
    if not shown:
        return _build_error("28000", "connection requires a valid client certificate")
    names = [value for part in shown["subject"] for key, value in part if key == "commonName"]
    return b"" if names == [role] else _build_error("28P01", f'password authentication failed for user "{role}"')


def _build_error(code: str, text: str) -> bytes:
    body = b"".join(field.encode() + b"\0" for field in ("SFATAL", "VFATAL", f"C{code}", f"M{text}")) + b"\0"
    return b"E" + (len(body) + 4).to_bytes(4, "big") + body


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while content := await reader.read(65536):
            writer.write(content)
            await writer.drain()
    writer.close()
