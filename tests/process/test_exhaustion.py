"""Hostile peers of a running gateway and its broker: memory comes back, and health checks are answered meanwhile (G17;
threat-model.md §2, row 42). The long form does the same for longer, until the product's own time limits end it."""

import asyncio
import contextlib
import json
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from tests.process.hostile import (
    DEEP,
    MEBIBYTE,
    TOO_LARGE,
    WIDE,
    Connection,
    at_once,
    closed,
    connect,
    connections,
    drip,
    make_bomb,
    p99,
    pulse,
    sent,
    settles_below,
    watched,
)
from tests.support.eventually import within
from tests.support.postgres import ScratchDatabase
from tests.support.product import Person
from tests.support.split import Split, split_on

pytestmark = pytest.mark.timeout(120)

MOST_DELAY = 0.25
"""Seconds that an attack may add to a health check (p99), beside another test. The product's limit is 0.5."""
GROWTH = 1.1
ALLOCATOR = 6 * MEBIBYTE
"""What it keeps or gives back varies by this from run to run of the same attack."""
ATTEMPTS = 3
"""Memory that leaks grows in each attempt; what the allocator keeps of a larger burst than before grows once."""
STREAMS_PER_CREDENTIAL = 8
"""By default (core.config.settings)."""
CLIENTS = 500
LEAST_SECONDS = 1.5
CUT_SECONDS = 90
"""After which a dripping client has been cut off: the limits are 15 s for a head and 45 s for a body."""


@dataclass(frozen=True)
class AttackedDeployment:
    """The gateway's process, and somebody who may call its tools."""

    split: Split
    ada: Person
    port: int
    pid: int
    crowd: list[Person] = field(default_factory=list[Person])

    async def people(self) -> list[Person]:
        """As many credentials as 500 streams take, made once."""
        while len(self.crowd) < -(-CLIENTS // STREAMS_PER_CREDENTIAL):
            self.crowd.append(await self.split.product.with_token(self.ada))
        return self.crowd

    def head(self, method: str, *more: str) -> bytes:
        """A request's head, up to its last empty line."""
        host = urlsplit(self.split.public_url).netloc
        lines = [f"{method} /mcp HTTP/1.1", f"Host: {host}", f"Authorization: Bearer {self.ada.token}", *more]
        return "\r\n".join(lines).encode() + b"\r\n"

    async def post(self, body: bytes, who: Person | None = None) -> int:
        length = f"Content-Length: {len(body)}"
        head = self.head("POST", "Content-Type: application/json", "Accept: application/json", length)
        head = head.replace(self.ada.token.encode(), (who or self.ada).token.encode())
        return await sent(self.port, head + b"\r\n" + body)

    async def serves(self) -> None:
        """Call, once the rate limit of the person whose token the attacks have lets them."""

        async def is_served() -> bool:
            heard = await self.split.call(self.ada, "shop", "look", at=0, what="tea")
            assert heard.status in {200, 429}, heard
            return heard.status == 200 and json.loads(heard.text)["said"] == "ada@acme.test: tea"

        await within(2, is_served)


@pytest.fixture
async def deployment(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[AttackedDeployment]:
    async with split_on(database, tmp_path, gateways=1) as split:
        tenant = await split.product.tenant("acme", services=["shop"])
        ada = await split.product.person(tenant, "ada@acme.test", allow=["*"])
        await split.add(ada, "ada-s-token-at-the-shop")
        (node,) = split.gateways
        assert node.running is not None
        yield AttackedDeployment(split, ada, node.port, node.running.pid)


Attack = Callable[[AttackedDeployment, int], Awaitable[None]]


async def huge(deployment: AttackedDeployment, rounds: int) -> None:
    """Bodies over 4 MiB, announced and not."""
    told = await at_once(9 * rounds, 3, lambda: deployment.post(TOO_LARGE))
    assert set(told) <= {413, 0}
    assert told[413] > 0


async def nested(deployment: AttackedDeployment, rounds: int) -> None:
    """JSON deeper than 64 levels, and JSON of nothing but small values."""
    assert set(await at_once(6 * rounds, 3, lambda: deployment.post(DEEP))) == {400}
    assert set(await at_once(2 * rounds, 1, lambda: deployment.post(WIDE))) == {400}


async def bombs(deployment: AttackedDeployment, rounds: int) -> None:
    """A vendor whose answers unpack to a thousand times their size."""
    deployment.split.shop.bomb = make_bomb()

    async def call() -> int:
        heard = await deployment.split.call(deployment.ada, "shop", "look", at=0, what="tea")
        assert heard.failed
        return heard.status

    try:
        assert set(await at_once(6 * rounds, 3, call)) == {200}
    finally:
        deployment.split.shop.bomb = b""


async def slow_heads(deployment: AttackedDeployment, rounds: int) -> None:
    """A byte a second of a request's head, by 500 clients."""
    await _dripped(deployment, deployment.head("POST") + b"X-Padding: ", rounds)


async def slow_bodies(deployment: AttackedDeployment, rounds: int) -> None:
    """A byte a second of a request's body, by 500 clients."""
    head = deployment.head("POST", "Content-Type: application/json", "Accept: application/json", "Content-Length: 4000")
    await _dripped(deployment, head + b"\r\n", rounds)


async def _dripped(deployment: AttackedDeployment, first: bytes, rounds: int) -> None:
    async with connections(deployment.port, CLIENTS, first) as made:
        was_cut = await drip(made, CUT_SECONDS if rounds > 1 else 3)
        assert rounds == 1 or was_cut == CLIENTS


async def abandoned_streams(deployment: AttackedDeployment, rounds: int) -> None:
    """500 streams that nobody reads, each for as many credentials as it takes; then their clients are gone."""
    people = await deployment.people()
    for _ in range(rounds):
        async with connections(deployment.port, 0) as made:
            for number in range(CLIENTS):
                made.append(await _open_stream(deployment, people[number % len(people)], number))
            assert closed(made) == 0
            assert await _status(deployment, people[0]) == 429, "one credential has so many and no more"


async def _stream(deployment: AttackedDeployment, who: Person, number: int = 0) -> Connection:
    reader, writer = await connect(deployment.port, number)
    headers = ("Accept: text/event-stream", "Mcp-Session-Id: url-0123456789abcdef")
    writer.write(deployment.head("GET", *headers).replace(deployment.ada.token.encode(), who.token.encode()) + b"\r\n")
    return reader, writer


async def _open_stream(deployment: AttackedDeployment, who: Person, number: int) -> Connection:
    """A stream that was accepted: the server notices one departure of the round before after another."""
    opened: list[Connection] = []

    async def is_accepted() -> bool:
        reader, writer = await _stream(deployment, who, number)
        accepted = (await reader.readline()).split()[1] == b"200"
        if accepted:
            opened.append((reader, writer))
        else:
            writer.close()
        return accepted

    await within(20, is_accepted)
    return opened[0]


async def _status(deployment: AttackedDeployment, who: Person) -> int:
    async with connections(deployment.port, 0) as made:
        made.append(await _stream(deployment, who))
        return int((await made[0][0].readline()).split()[1])


async def endless_trailers(deployment: AttackedDeployment, rounds: int) -> None:
    """Trailers that never end, behind a chunked body, without a credential."""
    head = b"POST /mcp HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    block = b"".join(b"x-%05d: %b\r\n" % (n, b"a" * 90) for n in range(10_000))
    for endless in (block, b"x: " + b"a" * MEBIBYTE):
        async with connections(deployment.port, 8 * rounds, head) as made:
            await asyncio.gather(*(_flood(reader, writer, endless) for reader, writer in made))


async def _flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, data: bytes) -> None:
    """50 MB, or until the server ends the connection; in any case it has said no and is done."""
    with contextlib.suppress(ConnectionError):
        for _ in range(50):
            writer.write(data)
            await writer.drain()
        async with asyncio.timeout(10):
            assert (await reader.read()).startswith(b"HTTP/1.1 4")


async def unread_answers(deployment: AttackedDeployment, rounds: int) -> None:
    """Thousands of pipelined requests on each connection, and nobody who reads an answer. A hundred connections that
    are served at once would make others wait by their number alone."""
    ask = b"GET /.well-known/oauth-protected-resource HTTP/1.1\r\nHost: x\r\n\r\n"
    async with connections(deployment.port, 0) as made:
        for number in range(min(20 * rounds, 100)):
            made.append(await connect(deployment.port, number))
            made[-1][1].transport.pause_reading()  # type: ignore[attr-defined]
            made[-1][1].get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            made[-1][1].write(ask * 20_000)
        await asyncio.sleep(CUT_SECONDS if rounds > 1 else 1)  # the attack's own pace
        if rounds > 1:
            await within(10, lambda: _none_is_left(deployment, made))


async def _none_is_left(deployment: AttackedDeployment, made: list[Connection]) -> bool:
    """Whether the server has cut them off: their clients, which read nothing, do not see it."""
    ports = {writer.get_extra_info("sockname")[1] for _, writer in made}
    open_now = psutil.Process(deployment.pid).net_connections("tcp")
    return not any(one.status == psutil.CONN_ESTABLISHED and one.raddr and one.raddr.port in ports for one in open_now)


async def crowded_address(deployment: AttackedDeployment, rounds: int) -> None:
    """More connections of one address than the process takes altogether; another address is served meanwhile."""
    async with connections(deployment.port, 0) as made:
        for _ in range(4_200):
            made.append(await asyncio.open_connection("127.0.0.1", deployment.port, local_addr=("127.0.2.1", 0)))
        await deployment.serves()


async def large_heads(deployment: AttackedDeployment, rounds: int) -> None:
    """Heads over the limit that arrive in one read."""
    request = deployment.head("POST") + b"X: " + b"a" * 200_000 + b"\r\n\r\n"
    assert set(await at_once(200 * rounds, 8, lambda: sent(deployment.port, request))) <= {431, 0}


async def missing_names(deployment: AttackedDeployment, rounds: int) -> None:
    """2,000 tool names that do not exist in each request, by several credentials. The rate limit is off here."""
    people = await deployment.people()
    asked = {"module": [f"m{n}" for n in range(20)], "tools": [f"t{n}" for n in range(100)]}
    body = _tools_call("get_module_schema", asked)
    turn = cycle(people)
    told = await at_once(len(people) * 5 * rounds, 16, lambda: deployment.post(body, next(turn)))
    assert set(told) <= {200, 429}


async def long_names(deployment: AttackedDeployment, rounds: int) -> None:
    """Names, ids and arguments of 4 MB, of signs that patterns look for, in each of the three tools."""
    for unit in ("eyJ", "Bearer%20", "postgres://", "${", "\\", "a"):
        text = unit * ((TOO_LONG - 2_000) // len(unit))
        step = {"id": "s", "module": "shop", "tool_name": "look", "params": {}}
        hostile = [
            *(_tools_call("call", step | {name: text}) for name in ("module", "tool_name", "params")),
            *(_tools_call("batch", {"commands": [step | {name: text}]}) for name in step),
            *(_tools_call("get_module_schema", {name: text}) for name in ("module", "tools", "have")),
        ]
        for _ in range(rounds):
            assert {await deployment.post(body) for body in hostile} <= {200, 413, 429}


TOO_LONG = 2 * MEBIBYTE
"""Characters: escaped, as many as a body may have."""


def _tools_call(tool: str, arguments: object) -> bytes:
    params = {"name": tool, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()


ATTACKS: dict[Attack, int] = {
    huge: 128, nested: 256, bombs: 128, slow_heads: 64, slow_bodies: 64, abandoned_streams: 64,
    endless_trailers: 32, unread_answers: 64, crowded_address: 64, large_heads: 32,
    missing_names: 32, long_names: 96,
}  # fmt: skip
"""Each with the most mebibytes that it may cost while it lasts."""


async def besiege(deployment: AttackedDeployment, attack: Attack, rounds: int) -> None:
    """Once to see what the attack costs, and again: what is held after it must be what was held before."""
    name = attack.__name__
    quiet, most = await _attack_once(deployment, attack)
    if rounds > 1:  # the allocator keeps what the first attack of this size needed; a second one must not need more
        await attack(deployment, rounds)
    for attempts_left in reversed(range(ATTEMPTS)):
        await deployment.serves()
        before = psutil.Process(deployment.pid).memory_info().rss
        felt = await pulse(deployment.port, _for_a_while(deployment, attack, rounds))
        print(f"{name}: {most - quiet >> 20} MiB, p99 {p99(felt.health):.3f} s, of those ours {felt.delay:.3f} s")
        assert felt.delay < MOST_DELAY, f"{name}: {felt.delay:.3f} s in {len(felt.health)} checks"
        await deployment.serves()
        try:
            await settles_below(deployment.pid, before * GROWTH + ALLOCATOR, seconds=10 if attempts_left else 30)
        except AssertionError:
            if not attempts_left:
                raise
        else:
            return


async def _attack_once(deployment: AttackedDeployment, attack: Attack) -> tuple[int, int]:
    """Attack, and fail where that takes too much memory; the bytes before it, and the most meanwhile."""
    await deployment.serves()
    quiet = psutil.Process(deployment.pid).memory_info().rss
    async with watched(deployment.pid) as most:
        await attack(deployment, 1)
    assert most() - quiet < ATTACKS[attack] * MEBIBYTE, f"{attack.__name__}: {(most() - quiet) >> 20} MiB"
    await deployment.serves()
    return quiet, most()


async def _for_a_while(deployment: AttackedDeployment, attack: Attack, rounds: int) -> None:
    """Long enough for a percentile."""
    began = time.monotonic()
    while time.monotonic() - began < LEAST_SECONDS:
        await attack(deployment, rounds)


@pytest.mark.guarantee("G17")
async def test_hostile_peers_cost_no_memory(deployment: AttackedDeployment) -> None:
    for attack in ATTACKS:
        await _attack_once(deployment, attack)


@pytest.mark.guarantee("G17")
@pytest.mark.long
async def test_hostile_peers_cost_no_memory_and_no_health(deployment: AttackedDeployment) -> None:
    for attack in ATTACKS:
        await besiege(deployment, attack, 1)


@pytest.mark.guarantee("G17")
@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
async def test_hostile_peers_for_longer(deployment: AttackedDeployment, attack: Attack) -> None:
    await besiege(deployment, attack, 10)
