"""A request for a lease is retried three times at most, and only while no connection to the broker can be made."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from broker.interface import AccountBroker, CredentialRefusal, Lease, LeaseRequest, NoCredential, RefusalReason
from broker.rpc.rpc_client import open_http_broker
from broker.rpc.service_token import ServiceTokenSigner
from core.caller import Caller, Credential
from core.errors import Unavailable
from core.permissions import Policy
from core.secret import Secret
from gateway.catalogue import build_catalogue
from gateway.connection_messages import ConnectMessages, NotConnected
from gateway.lease_cache import CachedLease, LeaseCache
from gateway.mcp.authority import Authority
from gateway.mcp.request_context import RequestContext
from modules.kit import ToolError
from tests.support.http_broker import served_over_http
from tests.support.toy_vendor import shop_module

TENANTS = (UUID(int=1), UUID(int=2))
TOOL = next(
    one for one in build_catalogue([shop_module("http://127.0.0.1:1")]).tools["shop"] if one.tool.name == "look"
)
LEASE = Lease(Secret("at-00000001-of-the-shop"), 1, 60.0, "personal", UUID(int=3), {})
MIDDLE = 0.5
"""A draw that makes a pause neither shorter nor longer."""


@dataclass
class Scripted:
    """A broker that gives its answers in turn, the last one for ever."""

    answers: list[Any]
    asked: list[LeaseRequest] = field(default_factory=list[LeaseRequest])

    async def lease(self, request: LeaseRequest) -> Lease | NoCredential | CredentialRefusal:
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def verify(self, token: Secret) -> Credential | CredentialRefusal:
        raise NotImplementedError

    async def verify_again(self, tenant_id: UUID, tokens: Sequence[Secret]) -> Sequence[Credential | None]:
        raise NotImplementedError

    async def get_connections(self, subject: Secret) -> dict[str, Any] | CredentialRefusal:
        raise NotImplementedError

    async def create_mandate(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("nobody asks for that here")

    verify_mandate = end_mandate = lease_tenant_key = create_mandate


class CountingKey(ServiceTokenSigner):
    """Signs once for every attempt."""

    attempts = 0

    def sign(self, method: str, path: str, body: bytes) -> str:
        self.attempts += 1
        return super().sign(method, path, body)


@dataclass(slots=True)
class Pauses:
    """What was waited for between attempts; nobody waits. `during` is what happens in a pause, by its number."""

    seconds: list[float] = field(default_factory=list[float])
    during: dict[int, Callable[[], Awaitable[None]]] = field(default_factory=dict)

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)
        if happens := self.during.get(len(self.seconds)):
            await happens()


class Unchanged:
    """Generations that never change."""

    def current(self, _tenant_id: UUID) -> int:
        return 1

    def is_dropped(self, _tenant_id: UUID, _version: int) -> bool:
        return False

    def confirm_version(self, _tenant_id: UUID, _version: int, _asked_at: float) -> None:
        """Nothing is dropped anyway."""


def leases_of(broker: AccountBroker, pauses: Pauses, chance: float = MIDDLE) -> LeaseCache:
    generations: Any = Unchanged()
    links = ConnectMessages("http://mcpist.test")
    return LeaseCache(broker, generations, links, sleep=pauses.sleep, chance=lambda: chance)


async def ask(leases: LeaseCache, tenant_id: UUID = TENANTS[0], seconds: float = 60.0) -> CachedLease:
    credential = Credential(f"token of {tenant_id}", "api_token", tenant_id, UUID(int=9), frozenset({"mcp:read"}))
    caller = Caller(credential, "ada@acme.test", "user", Policy((), frozenset()))
    deadline = asyncio.get_running_loop().time() + seconds
    return await leases.get_lease(
        RequestContext(Authority(caller), "r", deadline, find_subject=lambda: Secret("mcpist_made-up")), TOOL
    )


@contextlib.asynccontextmanager
async def nobody_listens(folder: Path) -> AsyncIterator[tuple[AccountBroker, CountingKey]]:
    """The gateway's real client, and a socket that is not there."""
    key = CountingKey(Ed25519PrivateKey.generate())
    async with open_http_broker(f"unix:{folder / 'b.sock'}", key) as client:
        yield client, key


async def test_three_retries_with_longer_and_longer_pauses(tmp_path: Path) -> None:
    pauses = Pauses()
    async with nobody_listens(tmp_path) as (broker, key):
        with pytest.raises(Unavailable, match="broker is unavailable"):
            await ask(leases_of(broker, pauses))
    assert key.attempts == 1 + 3
    assert pauses.seconds == pytest.approx([0.05, 0.1, 0.2])


@pytest.mark.parametrize(("chance", "factor"), [(0.0, 0.5), (1.0, 1.5)])
async def test_pauses_are_spread_by_half_to_either_side(tmp_path: Path, chance: float, factor: float) -> None:
    pauses = Pauses()
    async with nobody_listens(tmp_path) as (broker, _):
        with pytest.raises(Unavailable):
            await ask(leases_of(broker, pauses, chance))
    assert pauses.seconds == pytest.approx([0.05 * factor, 0.1 * factor, 0.2 * factor])
    assert sum(pauses.seconds) < 1, "all the waiting together"


@pytest.mark.parametrize("comes_back_in", [1, 2, 3])
async def test_a_broker_that_listens_again_gives_each_caller_their_lease(tmp_path: Path, comes_back_in: int) -> None:
    scripted, pauses = Scripted([LEASE]), Pauses()
    async with contextlib.AsyncExitStack() as stack:

        async def comes_back() -> None:
            await stack.enter_async_context(served_over_http(scripted, tmp_path, unix=True))

        async with served_over_http(scripted, tmp_path, unix=True) as before:
            key = before.key
        client = await stack.enter_async_context(open_http_broker(f"unix:{tmp_path / 'b.sock'}", key))
        pauses.during[comes_back_in] = comes_back
        leases = leases_of(client, pauses)
        assert (await ask(leases)).access_token == LEASE.access_token
        assert len(scripted.asked) == 1
        assert len(pauses.seconds) == comes_back_in
        await ask(leases, TENANTS[1])
        assert len(scripted.asked) == 2, "a caller of another tenant asks for their own"


async def test_no_retry_that_would_end_after_the_call_s_deadline(tmp_path: Path) -> None:
    pauses = Pauses()
    async with nobody_listens(tmp_path) as (broker, key):
        with pytest.raises(Unavailable):
            await ask(leases_of(broker, pauses), seconds=0.04)
    assert (key.attempts, pauses.seconds) == (1, [])


@pytest.mark.parametrize(
    ("answer", "raised"),
    [
        (CredentialRefusal(RefusalReason.FORBIDDEN), ToolError),
        (NoCredential("shop", "missing"), NotConnected),
        (NoCredential("shop", "broken", "personal"), NotConnected),
        (NoCredential("shop", "broken", "personal", "vendor", 5.0), ToolError),
        (Unavailable("the vault's key k1 is missing", 7), Unavailable),
        (RuntimeError("a fault"), Unavailable),
    ],
)
async def test_an_answer_is_an_answer(tmp_path: Path, answer: Any, raised: type[Exception]) -> None:
    """What the broker has said, a refusal or that it cannot serve, is not asked for again."""
    scripted, pauses = Scripted([answer, LEASE]), Pauses()
    async with served_over_http(scripted, tmp_path) as served:
        with pytest.raises(raised):
            await ask(leases_of(served.client, pauses))
    assert (len(scripted.asked), pauses.seconds) == (1, [])


async def test_a_gateway_whose_key_the_broker_does_not_know_is_not_retried(tmp_path: Path) -> None:
    scripted, pauses = Scripted([LEASE]), Pauses()
    stranger = CountingKey(Ed25519PrivateKey.generate())
    async with served_over_http(scripted, tmp_path) as served, open_http_broker(served.url, stranger) as client:
        with pytest.raises(Unavailable):
            await ask(leases_of(client, pauses))
    assert (stranger.attempts, scripted.asked, pauses.seconds) == (1, [], [])


async def test_a_broker_that_took_the_request_and_says_nothing_is_not_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be asking the vendor for a new token just now."""
    monkeypatch.setattr("broker.rpc.rpc_client.TOTAL_SECONDS", 0.2)
    taken, pauses = asyncio.Event(), Pauses()

    async def hangs(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        taken.set()
        await reader.read()
        writer.close()

    key = CountingKey(Ed25519PrivateKey.generate())
    server = await asyncio.start_server(hangs, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, open_http_broker(f"http://127.0.0.1:{port}", key) as client:
        with pytest.raises(Unavailable):
            await ask(leases_of(client, pauses))
    assert taken.is_set()
    assert (key.attempts, pauses.seconds) == (1, [])


async def test_in_one_process_there_is_no_connection_to_retry() -> None:
    """The database is away: whatever was under way may have been done, and it says itself when to come again."""
    scripted, pauses = Scripted([Unavailable(), LEASE]), Pauses()
    with pytest.raises(Unavailable):
        await ask(leases_of(scripted, pauses))
    assert (len(scripted.asked), pauses.seconds) == (1, [])
