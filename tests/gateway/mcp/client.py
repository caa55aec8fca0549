"""The client of tests/support/mcp_client.py without HTTP: it hands an ASGI application whatever bytes and headers,
piece by piece, and may leave before the end."""

import asyncio
from collections.abc import Sequence
from typing import Any

import orjson

from tests.gateway.mcp.toys import TOKEN
from tests.support import mcp_client
from tests.support.mcp_client import envelope
from tests.support.mcp_schema import available, check_message

HeaderList = list[tuple[str, str]]


class Response:
    """What came back."""

    def __init__(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        self.status = status
        self.headers = {name.decode(): value.decode("latin-1") for name, value in headers}
        self.body = body

    @property
    def messages(self) -> list[Any]:
        """All JSON-RPC messages, of a stream or of a plain answer."""
        return mcp_client.messages_in(self.body, self.headers.get("content-type", ""))

    @property
    def message(self) -> Any:
        return self.messages[-1]

    @property
    def code(self) -> int:
        return self.message["error"]["code"] if "error" in self.message else 0


def headers_for(revision: str | None, method: str = "", params: Any = None) -> HeaderList:
    """The headers that belong to it, the credential too."""
    own = {"host": "127.0.0.1:8080", "authorization": TOKEN}
    return list((own | mcp_client.headers_for(revision, method, params)).items())


def replaced(headers: HeaderList, **changes: str | None) -> HeaderList:
    """The headers with some set anew, or left out (None); an underscore in a name stands for a hyphen."""
    names = {name.replace("_", "-"): value for name, value in changes.items()}
    kept = [(name, value) for name, value in headers if name not in names]
    return kept + [(name, value) for name, value in names.items() if value is not None]


class Client:
    """`await client.rpc(revision, method, params)`, or `post` with everything by hand."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.gone = asyncio.Event()
        self.body = b""
        """What has come of the latest answer's body so far."""

    async def rpc(self, revision: str, method: str, params: Any = None, id: Any = 1, **changes: str | None) -> Response:
        headers = replaced(headers_for(revision, method, params), **changes)
        response = await self.post(orjson.dumps(envelope(revision, method, params, id)), headers)
        if available():
            for message in response.messages:
                if "jsonrpc" in message:
                    check_message(revision, method, message)
        return response

    async def call(self, revision: str, tool: str, arguments: Any = None, **changes: str | None) -> Response:
        return await self.rpc(revision, "tools/call", {"name": tool, "arguments": arguments or {}}, **changes)

    async def post(
        self, body: bytes | Sequence[bytes], headers: HeaderList, *, unfinished: bool = False, **scope: Any
    ) -> Response:
        """Send; a sequence of bytes arrives piece by piece, and is not all that was to come if `unfinished`.
        `gone` set means that the client has left."""
        pieces = [body] if isinstance(body, bytes) else list(body)
        last = len(pieces) - 1
        incoming = [
            {"type": "http.request", "body": piece, "more_body": unfinished or n < last}
            for n, piece in enumerate(pieces)
        ]
        sent: list[Any] = []
        self.body = b""

        async def receive() -> Any:
            if incoming:
                return incoming.pop(0)
            await self.gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)
            self.body += message.get("body", b"")

        full = {
            "type": "http",
            "method": "POST",
            "path": "/mcp",
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 8080),
        }
        await self.app(full | scope, receive, send)
        if not sent:
            return Response(0, [], b"")
        return Response(sent[0]["status"], sent[0]["headers"], b"".join(piece["body"] for piece in sent[1:]))
