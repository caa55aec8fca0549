"""A client of `/mcp` that speaks every revision; each answer is checked against the protocol's schema, here and
nowhere else."""

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
import orjson

from modules.kit.untrusted import UNTRUSTED, UNTRUSTED_FIELD
from tests.support.mcp_schema import available, check_message

URL = "http://127.0.0.1:8080"
LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
NEWEST = "2025-11-25"
MODERN = "2026-07-28"
REVISIONS = (*LEGACY, MODERN)
BOTH = "application/json, text/event-stream"
NOT_COMPARED = ("x-request-id", "date")

Headers = dict[str, str]


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer; `headers` in the order in which they came, names in lower case."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def messages(self) -> list[Any]:
        """The JSON-RPC messages in it, be it a stream or a plain answer."""
        return messages_in(self.body, self.header("content-type"))

    @property
    def message(self) -> Any:
        return self.messages[-1]

    @property
    def result(self) -> dict[str, Any]:
        assert "result" in self.message, self.body
        return self.message["result"]

    @property
    def text(self) -> str:
        """The text of a tool's answer."""
        return "\n".join(block["text"] for block in self.result["content"])

    @property
    def value(self) -> Any:
        """The data of a tool's answer, which every revision has as text at least, if the answer has no text of its
        own."""
        assert not self.result.get("isError"), self.text
        has_own_text = f"}}\n{UNTRUSTED}\n\n" in self.text or not self.text.startswith("{")
        value = self.result["structuredContent"] if has_own_text else orjson.loads(self.text)
        return without_mark(value) if self.is_marked else value

    @property
    def is_marked(self) -> bool:
        """Whether a tool's answer begins with the mark of texts of strangers, in both of its parts."""
        marked = next(iter(self.result.get("structuredContent", {}).items()), None) == (UNTRUSTED_FIELD, UNTRUSTED)
        if not marked and "structuredContent" in self.result:
            assert UNTRUSTED not in self.text
            return False
        starts = (f'{{"{UNTRUSTED_FIELD}":"{UNTRUSTED}"', f"{UNTRUSTED}\n")
        return self.text.startswith(starts) or f"}}\n{UNTRUSTED}\n\n" in self.text

    @property
    def failed(self) -> bool:
        return self.result.get("isError", False)

    def header(self, name: str) -> str:
        return dict(self.headers).get(name, "")

    @property
    def comparable(self) -> tuple[int, tuple[tuple[str, str], ...], bytes]:
        """All that a client could tell two answers apart by, but what differs between any two."""
        return self.status, tuple(one for one in self.headers if one[0] not in NOT_COMPARED), self.body


def without_mark(value: dict[str, Any]) -> dict[str, Any]:
    """The data of a tool's answer as the tool has given it."""
    return {name: one for name, one in value.items() if name != UNTRUSTED_FIELD}


def messages_in(body: bytes, content_type: str) -> list[Any]:
    """All JSON-RPC messages, of a stream or of a plain answer."""
    if content_type == "text/event-stream":
        return [orjson.loads(line[6:]) for line in body.split(b"\n") if line.startswith(b"data: ")]
    return [orjson.loads(body)] if body else []


def envelope(revision: str, method: str, params: Any = None, id: Any = 1) -> dict[str, Any]:
    """A valid request."""
    params = dict(params or {})
    if revision == MODERN:
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test client", "version": "1"},
        }
        params["_meta"] = meta | params.get("_meta", {})
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": method}
    return message | ({"params": params} if params else {})


def headers_for(revision: str | None, method: str, params: Any = None) -> Headers:
    """The headers that belong to a request, but the credential; a client of no revision names none."""
    headers = {"accept": BOTH, "content-type": "application/json"}
    if revision is not None:
        headers["mcp-protocol-version"] = revision
    if revision == MODERN:
        headers["mcp-method"] = method
        if method == "tools/call":
            headers["mcp-name"] = str((params or {}).get("name"))
        if method == "prompts/get":
            headers["mcp-name"] = str((params or {}).get("name"))
        if method == "resources/read":
            headers["mcp-name"] = str((params or {}).get("uri"))
        if method.startswith("tasks/"):
            headers["mcp-name"] = str((params or {}).get("taskId"))
    return headers


def bearer(token: str | None) -> Headers:
    return {} if token is None else {"authorization": f"Bearer {token}"}


class Client:
    """`open_http(address)` makes the HTTP client; what is answered is also told to `hear`."""

    def __init__(self, app: Any, hear: Callable[[str, bytes], None], *, url: str = URL, socket: bool = False) -> None:
        self._app = app
        self._hear = hear
        self._url = url
        self._socket = socket

    async def post(
        self,
        token: str | None,
        method: str,
        params: Any = None,
        *,
        revision: str = NEWEST,
        id: Any = 1,
        address: str = "127.0.0.1",
        headers: Headers | None = None,
        url: str = "/mcp",
    ) -> Answer:
        """Send one request and check what comes back."""
        head = headers_for(revision, method, params) | bearer(token) | (headers or {})
        answer = await self.send(orjson.dumps(envelope(revision, method, params, id)), head, address=address, url=url)
        self._check(revision, method, answer)
        return answer

    async def tool(self, token: str | None, name: str, arguments: Any = None, **options: Any) -> Answer:
        """Use one of the three meta-tools."""
        return await self.post(token, "tools/call", {"name": name, "arguments": arguments or {}}, **options)

    async def call(self, token: str | None, module: str, tool_name: str, params: Any = None, **options: Any) -> Answer:
        """Run a module's tool by `call`."""
        arguments = {"module": module, "tool_name": tool_name, "params": params or {}}
        return await self.tool(token, "call", arguments, **options)

    async def array(self, token: str, requests: Sequence[tuple[str, Any]], revision: str) -> list[Any]:
        """A JSON-RPC batch array."""
        body = [envelope(revision, method, params, n) for n, (method, params) in enumerate(requests)]
        answer = await self.send(orjson.dumps(body), headers_for(revision, "") | bearer(token))
        members = {message["id"]: message for message in answer.message}
        if available():
            for n, (method, _) in enumerate(requests):
                check_message(revision, method, members[n])
        return [members[n] for n in range(len(requests))]

    async def send(self, body: bytes, headers: Headers, *, address: str = "127.0.0.1", url: str = "/mcp") -> Answer:
        """Send whatever it is; nothing is checked but that it is remembered."""
        async with self._http(address) as http:
            fields = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
            response = await http.post(url, content=body, headers=fields)
        received = tuple((name.decode().lower(), value.decode()) for name, value in response.headers.raw)
        self._hear("answer", b"\n".join(f"{name}: {value}".encode() for name, value in received) + response.content)
        return Answer(response.status_code, received, response.content)

    @contextlib.asynccontextmanager
    async def _http(self, address: str) -> AsyncIterator[httpx2.AsyncClient]:
        transport = None if self._socket else httpx2.ASGITransport(self._app, client=(address, 50000))
        async with httpx2.AsyncClient(transport=transport, base_url=self._url, trust_env=False, timeout=30) as http:
            yield http

    def _check(self, revision: str, method: str, answer: Answer) -> None:
        for message in answer.messages:
            if "jsonrpc" not in message:
                assert message.keys() == {"error"}, f"a refusal holds its text and no more: {message}"
                assert answer.status >= 400
            elif available():
                check_message(revision, method, message)
