"""All vendors at once, by heart: ``--answers FILE`` has the body of each ``METHOD /path``. Hand-written, so never the
bottleneck."""

import argparse
import asyncio
import functools
import json
import socket
from pathlib import Path
from typing import Any

import httptools
import uvloop

from tests.bench.servers.serving import announce


class RecordedVendor(asyncio.Protocol):
    """One connection; requests on it come one after the other."""

    def __init__(self, answers: dict[str, bytes]) -> None:
        self._answers = answers
        self._parser = httptools.HttpRequestParser(self)
        self._path = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._path = b""

    def on_url(self, url: bytes) -> None:
        self._path += url

    def on_message_complete(self) -> None:
        path = self._path.decode().partition("?")[0]
        answer = self._answers.get(f"{self._parser.get_method().decode()} {path}", _NOT_FOUND)
        if not self._transport.is_closing():
            self._transport.write(answer)


def _render(body: bytes, status: str = "200 OK") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


_NOT_FOUND = _render(b"{}", "404 Not Found")


async def _serve(answers: dict[str, bytes]) -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    made = functools.partial(RecordedVendor, answers)
    server = await asyncio.get_running_loop().create_server(made, sock=listener)
    announce(listener)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--answers", type=Path, required=True)
    known = json.loads(parser.parse_args().answers.read_bytes())
    uvloop.run(_serve({where: _render(body.encode()) for where, body in known.items()}))
