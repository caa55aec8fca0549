"""The upstream: for the bare proxy it gives a text back, for MCPist it is a GitHub of one trivial answer.

/now answers at once and /later after 20 ms; /repos/OWNER/TEXT/releases/latest when the owner's name says, with the text
as the release's tag. Hand-written, so never the bottleneck.
"""

import asyncio
import socket
from typing import Any

import httptools
import orjson
import uvloop

from tests.bench.servers.serving import announce

PAUSES = {b"now": 0.0, b"later": 0.02, b"nap": 0.05}


class Upstream(asyncio.Protocol):
    """One connection; requests on it come one after the other."""

    def __init__(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._path, self._body = b"", b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._path, self._body = b"", b""

    def on_url(self, url: bytes) -> None:
        self._path += url

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        steps = self._path.split(b"/")
        answer = _answer(orjson.loads(self._body)) if self._body else _github(steps)
        if pause := PAUSES.get(steps[2 if steps[1] == b"repos" else 1], 0.0):
            asyncio.get_running_loop().call_later(pause, self._send, answer)
        else:
            self._send(answer)

    def _send(self, answer: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(answer)


def _answer(asked: dict[str, Any]) -> bytes:
    """What the tool of a whole tools/call would answer; the bare proxy passes it on."""
    content = [{"type": "text", "text": asked["params"]["arguments"]["params"]["repo"]}]
    return _rendered({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": content, "isError": False}})


def _github(steps: list[bytes]) -> bytes:
    if steps[1] == b"user":
        return _rendered({"login": "bench"})
    tag = steps[3].decode()
    return _rendered({"tag_name": tag, "body": "", "html_url": f"https://github.test/{tag}"})


def _rendered(answer: dict[str, Any]) -> bytes:
    body = orjson.dumps(answer)
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


async def _serve() -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    server = await asyncio.get_running_loop().create_server(Upstream, sock=listener)
    announce(listener)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve())
