"""Requests of sign-in: which hosts they may reach, and how much they read."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from broker.identity.providers.identity_provider import SignInFailed
from broker.identity.providers.idp_client import MAX_RESPONSE_BYTES, IdpClient
from broker.identity.settings import IdentitySettings
from core.config.settings import Settings
from core.secret import Secret
from server.wiring.outbound_http import open_idp_http
from tests.broker.identity.identity_app import oidc


@dataclass
class Server:
    """Answers every request with the same bytes, and counts."""

    answer: bytes
    asked: int = 0
    origin: str = field(default="", init=False)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(self.answer)
        with contextlib.suppress(ConnectionError):
            await writer.drain()
        writer.close()


def ok(body: bytes, header: bytes = b"") -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + header + b"Connection: close\r\n\r\n" + body


@contextlib.asynccontextmanager
async def running(answer: bytes) -> AsyncIterator[Server]:
    made = Server(answer)
    async with await asyncio.start_server(made.serve, "127.0.0.1", 0) as listening:
        made.origin = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        yield made


async def fetch(issuer: str, url: str, *listed: str) -> object:
    identity = IdentitySettings.model_validate({"providers": [oidc(issuer, "client", "secret")]})
    settings = Settings(home=Path("/nowhere"), allowed_private_hosts=listed)
    async with open_idp_http(settings, identity.providers) as http:
        outgoing = IdpClient(http)
        async with outgoing.open_client("client", Secret("secret")) as client:
            return await outgoing.fetch_json(client, url)


async def test_a_private_host_is_reached_only_if_the_operator_names_it() -> None:
    async with running(ok(b'{"sub": "1"}')) as company, running(ok(b"{}")) as internal:
        assert await fetch(company.origin, f"{company.origin}/userinfo") == {"sub": "1"}
        with pytest.raises(SignInFailed) as refused:
            await fetch(company.origin, f"{internal.origin}/token")
        assert (refused.value.failure, internal.asked) == ("provider_away", 0)
        listed = internal.origin.removeprefix("http://")
        assert await fetch(company.origin, f"{internal.origin}/token", listed) == {}


@pytest.mark.parametrize(
    "answer",
    [
        ok(b" " * MAX_RESPONSE_BYTES + b"{}"),
        ok(b"\x1f\x8b", b"Content-Encoding: gzip\r\n"),
        b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",
    ],
    ids=["too large", "encoded", "redirect"],
)
async def test_an_answer_that_is_not_read(answer: bytes) -> None:
    async with running(answer) as company:
        with pytest.raises(SignInFailed):
            await fetch(company.origin, f"{company.origin}/userinfo")
        assert company.asked == 1
