"""TLS in front of a test's PostgreSQL server, as its own does it: the wheel's server is built without."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from core.database_url import DatabaseAddress
from core.secret import Secret
from tests.support.certificates import SelfSigned

SSL_REQUEST = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"


@contextlib.asynccontextmanager
async def tls_in_front_of(upstream: DatabaseAddress, certificate: SelfSigned) -> AsyncIterator[str]:
    """The URL of the same database by TCP and TLS (PostgreSQL, 54.2.11 SSL Session Encryption), without options."""
    url = urlsplit(upstream.url.reveal())
    host = parse_qs(url.query).get("host", [url.hostname or "127.0.0.1"])[0]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            assert await reader.readexactly(8) == SSL_REQUEST, "somebody came without TLS"
            writer.write(b"S")
            await writer.start_tls(certificate.server())
            if host.startswith("/"):
                above = await asyncio.open_unix_connection(str(Path(host) / f".s.PGSQL.{url.port or 5432}"))
            else:
                above = await asyncio.open_connection(host, url.port or 5432)
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


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while content := await reader.read(65536):
            writer.write(content)
            await writer.drain()
    writer.close()
