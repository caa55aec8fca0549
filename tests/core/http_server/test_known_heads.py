"""A head that is known is read as it would be without: generated requests are answered alike by a server that remembers
every head and by one that remembers none; and no credential is kept."""

import asyncio
import gc
import json
import random
from typing import Any

import pytest

from core.http_server.exchange import DIRECT
from core.http_server.known_heads import KnownHeads, RawHead, RequestHead, split_head
from tests.core.http_server.echo import answer, echo, read_body
from tests.support.http_server import served

REQUESTS = 1_500
LONG = 100_000
SECRET = b"Bearer secret-of-ada"


async def remembering(scope: Any, receive: Any, send: Any) -> None:
    """Say what was asked as `echo` does, and whether the head was known; remember it."""
    direct = scope["extensions"][DIRECT]
    body = await read_body(receive)
    known = direct.findings is not None
    headers = {
        name: value for name, value in scope["headers"] if not known or value or name not in direct._request.secrets
    }
    if known:
        headers |= {name: direct.get_secret(name) for name in direct._request.secrets}
        headers[b"content-length"] = b"%d" % direct.content_length
    direct.remember("checked")
    fields = sorted([name.decode("latin-1"), value.decode("latin-1")] for name, value in headers.items())
    said = {"method": scope["method"], "path": scope["path"], "headers": fields, "body": body.decode("latin-1")}
    said["query"] = scope["query_string"].decode()
    await answer(send, json.dumps({**said, "known": known}).encode())


async def exchange(port: int, requests: list[bytes]) -> list[tuple[bytes, dict[str, Any]]]:
    """Status line and JSON of each answer on one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answers: list[tuple[bytes, dict[str, Any]]] = []
    try:
        for request in requests:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            while head.startswith(b"HTTP/1.1 100"):
                head = await reader.readuntil(b"\r\n\r\n")
            (line,) = (line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            body = json.loads(await reader.readexactly(int(line.partition(b":")[2])))
            answers.append((head.partition(b"\r\n")[0], body))
    except (asyncio.IncompleteReadError, ConnectionError):
        pass  # refused, and the connection was closed
    finally:
        writer.close()
    return answers


def build_request(chance: random.Random) -> tuple[list[bytes], bytes]:
    """The lines of a head, most of them harmless, with `%d` for the length of its body, and a body."""
    length = chance.choice([b"Content-Length: ", b"content-length: ", b"CONTENT-LENGTH: ", b"Content-Length:"])
    lines = [
        b"Host: a.example", length + b"%d", b"Authorization: " + chance.choice([SECRET, b"Bearer other", b"", b" x "]),
        b"Accept: application/json",
    ]  # fmt: skip
    odd = [
        b"Content-Length: %d", b"content-length: 1", b"Transfer-Encoding: chunked", b"Expect: 100-continue",
        b"Upgrade: h2c", b"Connection: close", b"Connection: keep-alive, Upgrade", b"Cookie: a=b", b"Cookie: c=d",
        b"X-A: 1", b"X-A: 2", b"X-B: \xff\xfe", b"X-C: a\nX-D: b", b"X-E: a\r b", b" folded", b"X-F : 1", b"X-G:",
        b"authorization: again", b"Proxy-Authorization: Basic eDp5", b"X-H: Content-Length: 3", b"Host: b.example",
        b"X-I: \tpadded\t ", b"X-J: a\n\nGET /x HTTP/1.1", b"X-K: a\r\rb", b"Authorization: " + SECRET + b" ",
    ]  # fmt: skip
    lines += [chance.choice(odd) for _ in range(chance.choice([0, 0, 1, 2]))]
    chance.shuffle(lines)
    target = chance.choice([b"/mcp", b"/mcp", b"/mcp", b"/mcp?a=b", b"http://c.example/mcp", b"/%6dcp", b"*"])
    method = chance.choice([b"POST", b"POST", b"POST", b"GET", b"HEADER", b"PUT"])
    version = chance.choice([b"HTTP/1.1"] * 6 + [b"HTTP/1.0"])
    return [b"%b %b %b" % (method, target, version), *lines], chance.choice([b"", b"{}", b"x" * 300])


async def compare(count: int, seed: int) -> int:
    """Send each head three times over one connection to a server that remembers, and to one that does not; return how
    often the head was known."""
    chance, known = random.Random(seed), 0
    async with served(echo) as (_, plain), served(remembering) as (_, remembers):
        for _ in range(count):
            lines, body = build_request(chance)
            bodies = [body, body + b"y", body]
            requests = [b"\r\n".join(lines).replace(b"%d", b"%d" % len(one)) + b"\r\n\r\n" + one for one in bodies]
            expected, found = await asyncio.gather(exchange(plain, requests), exchange(remembers, requests))
            known += sum(said.pop("known", False) for _, said in found)
            for _, said in expected:
                if "headers" in said:
                    said["headers"] = sorted(map(list, dict(said["headers"]).items()))
            assert found == expected, requests[0]
    return known


async def test_a_known_head_changes_no_answer() -> None:
    assert await compare(REQUESTS, 1) > REQUESTS / 4


@pytest.mark.long
@pytest.mark.timeout(1200)
async def test_a_known_head_changes_none_of_100_000_answers() -> None:
    assert await compare(LONG, 2) > LONG / 4


def head(*lines: bytes, secret: bytes = SECRET) -> bytes:
    return b"\r\n".join(
        [b"POST /mcp HTTP/1.1", b"Host: a.example", b"Authorization: " + secret, b"Content-Length: 2", *lines, b"", b""]
    )


async def test_a_head_is_known_with_its_own_credential_only() -> None:
    async with served(remembering) as (server, port):
        first = await exchange(port, [head() + b"{}", head() + b"{}"])
        other = await exchange(port, [head(secret=b"Bearer of-eve") + b"{}"])
        assert [said["known"] for _, said in [*first, *other]] == [False, True, False]
        assert len(server.known_heads) == 2
        heads = [dict(said["headers"]) for _, said in [*first, *other]]
    assert [one["authorization"] for one in heads] == [SECRET.decode(), SECRET.decode(), "Bearer of-eve"]


@pytest.mark.parametrize("line", [b"Cookie: session=secret-of-ada", b"Proxy-Authorization: Basic secret-of-ada"])
async def test_no_credential_is_kept(line: bytes) -> None:
    async with served(remembering) as (server, port):
        known = await exchange(port, [head(line) + b"{}"] * 2)
        assert known[1][1]["known"]
        reached, to_do = set[int](), [server.known_heads]
        while to_do:
            one: Any = to_do.pop()
            if id(one) not in reached and not isinstance(one, type):
                reached.add(id(one))
                assert not (isinstance(one, bytes | str) and "secret-of-ada" in str(one)), one
                to_do += gc.get_referents(one)


async def test_heads_in_pieces_and_in_chunks_are_not_remembered() -> None:
    async with served(remembering) as (server, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head()[:30])
        await writer.drain()
        while server.buffered == (0, 0) and not any(one._reader.has_begun_head for one in server._connections):
            await asyncio.sleep(0)
        writer.write(head()[30:] + b"{}")
        await reader.readuntil(b"}")
        writer.close()
        await exchange(port, [b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"])
        assert len(server.known_heads) == 0


def test_the_number_of_heads_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.http_server.known_heads.MAX_KNOWN_HEADS", 3)
    heads = KnownHeads()
    scope = dict.fromkeys(("type", "asgi", "http_version", "method", "scheme", "root_path", "path", "raw_path"), "")
    for number in range(10):
        raw = split_head(b"POST / HTTP/1.1\r\nX-N: %d\r\nContent-Length: 2\r\n\r\n" % number)
        assert isinstance(raw, RawHead)
        fields = [(b"x-n", b"%d" % number), (b"content-length", b"2")]
        heads.remember(RequestHead({**scope, "query_string": b"", "headers": fields}, True, 2, raw=raw), "checked")
    assert len(heads) == 3


@pytest.mark.parametrize(
    "data",
    [b"", b"\r\n\r\n", b"POST / HTTP/1.1\r\n\r\n", head()[:-2], head().replace(b": 2\r\n", b": +2\r\n"),
     head().replace(b": 2\r\n", b": 123456789\r\n"), head().replace(b": 2\r\n", b": \r\n"), head(b"X: " + b"x" * 5000)],
)  # fmt: skip
def test_what_is_no_head_to_be_remembered(data: bytes) -> None:
    assert split_head(data) is None
