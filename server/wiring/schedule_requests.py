"""Schedules that are asked for at the admin API, made by a gateway's own tool: the control plane passes the caller's
credential on to ``/mcp``, so what such a schedule may do is checked in the one place where every call is (decision
0133)."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit
from uuid import UUID

import aiohttp
import msgspec
import orjson

from admin_ui.api.schedule_creator import ScheduleCreation
from core.api.principal import AuthenticationRequired, MissingCredentialScope
from core.config.settings import Settings
from core.errors import Conflict, Invalid, LimitReached, Unavailable
from core.http_server.asgi import Application
from core.scopes import WRITE
from core.secret import Secret

MCP_PATH = "/mcp"
REVISION = "2025-11-25"
ANSWER_SECONDS = 60.0
MAX_ANSWER_BYTES = 1 << 20

log = logging.getLogger(__name__)


class GatewayAnswer(NamedTuple):
    """HTTP answer of a gateway."""

    status: int
    body: bytes
    retry_after: str = ""


class GatewayRequest(Protocol):
    """Sends a POST to a gateway's ``/mcp``."""

    async def __call__(self, headers: Mapping[str, str], body: bytes) -> GatewayAnswer:
        """Return the answer.

        Raises:
            core.errors.Unavailable: there is none.
        """
        ...


class _Error(msgspec.Struct):
    code: str = ""
    message: str = ""


class _Structured(msgspec.Struct):
    schedule_id: UUID | None = None
    was_there: bool = False
    error: _Error = msgspec.field(default_factory=_Error)


class _Text(msgspec.Struct):
    text: str = ""


class _ToolResult(msgspec.Struct):
    content: list[_Text]
    is_error: bool = msgspec.field(name="isError", default=False)
    structured: _Structured = msgspec.field(name="structuredContent", default_factory=_Structured)


class _Answer(msgspec.Struct):
    result: _ToolResult


class GatewayScheduleCreator:
    """Implements :class:`admin_ui.api.schedule_creator.ScheduleCreator`. `host` is the public one, which gateways
    expect."""

    def __init__(self, ask: GatewayRequest, host: str) -> None:
        self._ask = ask
        self._host = host

    async def __call__(self, credential: Secret, client_address: str, wanted: Mapping[str, Any]) -> ScheduleCreation:
        """Make a schedule; raises as the protocol says."""
        headers = {
            "Authorization": f"Bearer {credential.reveal()}",
            "Content-Type": "application/json",
            "Accept": "application/json",
            "MCP-Protocol-Version": REVISION,
            "Host": self._host,
        }
        if client_address:
            headers["X-Forwarded-For"] = client_address
        answer = await self._ask(headers, _build_call(wanted))
        _check_status(answer)
        try:
            result = msgspec.json.decode(answer.body, type=_Answer).result
        except msgspec.DecodeError:
            log.warning("a gateway has not made a schedule", extra={"event": "schedule_not_made"})
            raise Unavailable("the gateway could not make the schedule") from None
        if result.is_error:
            raise _build_refusal(result)
        if result.structured.schedule_id is None:
            raise Unavailable("the gateway could not make the schedule")
        return ScheduleCreation(result.structured.schedule_id, not result.structured.was_there)


class InProcessGateway:
    """Implements :class:`GatewayRequest` for a gateway of the same process."""

    def __init__(self, get_app: Callable[[], Application]) -> None:
        self._get_app = get_app

    async def __call__(self, headers: Mapping[str, str], body: bytes) -> GatewayAnswer:
        """Ask the gateway's application."""
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": MCP_PATH,
            "raw_path": MCP_PATH.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()],
            "client": (headers.get("X-Forwarded-For", ""), 0),
        }
        messages: list[dict[str, Any]] = []
        parts = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> dict[str, Any]:
            if not parts:
                await asyncio.Event().wait()  # whoever looks for the end of the connection waits for it
            return parts.pop()

        async def send(message: dict[str, Any]) -> None:
            messages.append(message)

        await self._get_app()(scope, receive, send)
        start = dict(messages[0]["headers"])
        answer = b"".join(message.get("body", b"") for message in messages[1:])
        return GatewayAnswer(messages[0]["status"], answer, start.get(b"retry-after", b"").decode("latin-1"))


class RemoteGateway:
    """Implements :class:`GatewayRequest` for a gateway at `base_url`."""

    def __init__(self, session: aiohttp.ClientSession, base_url: str) -> None:
        self._session = session
        self._url = base_url + MCP_PATH

    async def __call__(self, headers: Mapping[str, str], body: bytes) -> GatewayAnswer:
        """Ask the gateway over HTTP."""
        try:
            async with self._session.post(self._url, headers=headers, data=body, allow_redirects=False) as response:
                answer = await response.content.read(MAX_ANSWER_BYTES)
                while len(answer) < MAX_ANSWER_BYTES and (part := await response.content.read(MAX_ANSWER_BYTES)):
                    answer += part
                return GatewayAnswer(response.status, answer, response.headers.get("Retry-After", ""))
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            log.warning(
                "no gateway answers at MCPIST_GATEWAY_URL",
                extra={"event": "gateway_unavailable", "cause": type(error).__name__},
            )
            raise Unavailable("MCPist is not ready: no gateway answers its control plane") from None


@contextlib.asynccontextmanager
async def open_remote_gateway(settings: Settings) -> AsyncGenerator[GatewayScheduleCreator]:
    """Open the way of a control plane in a process of its own to a gateway."""
    async with aiohttp.ClientSession(
        cookie_jar=aiohttp.DummyCookieJar(), timeout=aiohttp.ClientTimeout(total=ANSWER_SECONDS)
    ) as session:
        gateway = RemoteGateway(session, settings.gateway_url or settings.public_url)
        yield create_schedule_creator(gateway, settings)


def create_schedule_creator(ask: GatewayRequest, settings: Settings) -> GatewayScheduleCreator:
    """Create what has a gateway make schedules."""
    return GatewayScheduleCreator(ask, urlsplit(settings.public_url).netloc)


def _build_call(wanted: Mapping[str, Any]) -> bytes:
    """Build the request of the tool.

    Raises:
        Invalid: it cannot be written as JSON.
    """
    arguments = {"module": "jobs", "tool_name": "create_schedule", "params": dict(wanted)}
    params = {"name": "call", "arguments": arguments}
    try:
        return orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    except orjson.JSONEncodeError:  # half of a surrogate pair, or nested deeper than anything reads
        raise Invalid("params or commands hold text that is no Unicode, or are nested too deeply") from None


def _check_status(answer: GatewayAnswer) -> None:
    if answer.status == 401:
        raise AuthenticationRequired("this credential is not valid: sign in again")
    if answer.status == 403:
        raise MissingCredentialScope(WRITE)
    if answer.status == 429:
        raise LimitReached("you ask for too much at a time", _read_seconds(answer.retry_after))
    if answer.status != 200:
        raise Unavailable("the gateway is not ready", _read_seconds(answer.retry_after))


def _read_seconds(text: str) -> float:
    return float(text) if text.isascii() and text.isdigit() and len(text) < 6 else 2.0


def _build_refusal(result: _ToolResult) -> Exception:
    error = result.structured.error
    if error.code == Conflict.code:
        return Conflict(error.message)
    if error.code == LimitReached.code:
        return LimitReached(error.message, 60)
    return Invalid("\n".join(part.text for part in result.content))
