"""The upstream of the hop: gives a JSON text back, on /later after 20 ms. Hand-written, so never the bottleneck."""

import asyncio
import socket
from typing import Any

import httptools
import orjson
import uvloop

from tests.bench.servers.serving import announce

LATER_SECONDS = 0.02


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
        answer = _answer(orjson.loads(self._body))
        if self._path == b"/later":
            asyncio.get_running_loop().call_later(LATER_SECONDS, self._send, answer)
        else:
            self._send(answer)

    def _send(self, answer: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(answer)


def _answer(asked: dict[str, Any]) -> bytes:
    """The text of a plain question, or of a whole tools/call as the floor passes it on."""
    if "jsonrpc" in asked:
        params = asked["params"]["arguments"]["params"]
        content = [{"type": "text", "text": params["text"]}]
        body = orjson.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": content, "isError": False}})
    else:
        body = orjson.dumps({"text": asked["text"]})
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


async def _serve() -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    server = await asyncio.get_running_loop().create_server(Upstream, sock=listener)
    announce(listener)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve())
