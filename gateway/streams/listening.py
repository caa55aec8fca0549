"""Handler of `subscriptions/listen` ([2026-07-28] Subscriptions): one stream for all that a client asks to be told."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast

import orjson

from core.caller import Caller
from gateway.auth.tool_scopes import has_scope
from gateway.capabilities.resources import LOOKUP_KIND
from gateway.lookup_recorder import MissingName
from gateway.mcp.jsonrpc import INVALID_PARAMS, INVALID_REQUEST
from gateway.mcp.request_context import Handler, Params, ProtocolError, RequestContext, Result
from gateway.mcp.sse import encode_notification
from gateway.streams.client_streams import StreamWatches
from gateway.streams.list_changes import PROMPTS, RESOURCES, TOOLS
from gateway.streams.open_stream import NewsSource, OpenStream
from gateway.streams.resource_subscriptions import MAX_SUBSCRIPTIONS
from gateway.tool_runner import ToolRunner
from gateway.uri_templates import MAX_URI_LENGTH

SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
MAX_LISTEN_SECONDS = 3_600.0
LIST_FIELDS: Mapping[str, str] = {f"{kind}ListChanged": kind for kind in (TOOLS, PROMPTS, RESOURCES)}


class WatchedTasks(Protocol):
    """Tasks that a client listens to."""

    @property
    def granted(self) -> Sequence[str]:
        """Ids of those that are the caller's."""
        ...

    @property
    def source(self) -> NewsSource: ...


class TaskListening(Protocol):
    """Tasks as `subscriptions/listen` knows them."""

    def parse(self, params: Params) -> Sequence[Any] | None:
        """Parse which tasks are asked for; None where none are.

        Raises:
            ProtocolError: they cannot be asked for.
        """
        ...

    def watch(
        self, request: RequestContext, params: Params, task_ids: Sequence[Any], wake: Callable[[], None]
    ) -> contextlib.AbstractAsyncContextManager[WatchedTasks]:
        """Watch those that are the caller's."""
        ...


class ListenMethod:
    """Serves the streams of clients that name what they want. Nothing of it is stored: it ends with its stream."""

    def __init__(self, watches: StreamWatches, runner: ToolRunner, tasks: TaskListening) -> None:
        self._watches = watches
        self._runner = runner
        self._tasks = tasks

    def get_handlers(self) -> dict[str, Handler]:
        """Return the handlers by method."""
        return {"subscriptions/listen": self._listen}

    async def _listen(self, request: RequestContext, params: Params) -> Result:
        """Acknowledge what the client is told of, then tell it until the stream ends. One that asks for tasks alone
        ends with the last of them.

        Raises:
            ProtocolError: the filter is none, or the client reads no stream.
            gateway.mcp.errors.ClientDisconnected: the client has left, or does not read.
            core.errors.LimitReached: too many streams are open.
        """
        wanted = _parse_filter(params.get("notifications"))
        task_ids = self._tasks.parse(params)
        uris = _parse_uris(wanted.get("resourceSubscriptions"))
        channel = request.channel
        if channel is None:
            raise ProtocolError(INVALID_REQUEST, "Invalid request: accept text/event-stream to listen")
        caller, hub = request.caller, self._watches.hub
        mark = {"_meta": {SUBSCRIPTION_KEY: orjson.Fragment(channel.request_id)}}
        end = asyncio.get_running_loop().time() + MAX_LISTEN_SECONDS
        with hub.reserve(caller):
            stream = OpenStream(caller, channel, (), end, mark)
            async with contextlib.AsyncExitStack() as stack:
                kinds = [kind for field, kind in LIST_FIELDS.items() if wanted.get(field) is True]
                granted: dict[str, Any] = {
                    field: True
                    for field, kind in LIST_FIELDS.items()
                    if kind in kinds and self._can_change(request, kind)
                }
                told = [LIST_FIELDS[field] for field in granted]
                lists = self._watches.lists.create_source(caller, channel.choose_exposure, told)
                sources: list[NewsSource] = [lists]
                if uris is not None:
                    readable = await self._find_readable(request, uris)
                    updates = self._watches.resources.create_source(self._watches.sieve, caller, readable)
                    granted["resourceSubscriptions"] = updates.uris
                    stack.enter_context(self._watches.resources.watch(updates, stream))
                    sources.append(updates)
                if task_ids is not None:
                    watched = await stack.enter_async_context(
                        self._tasks.watch(request, params, task_ids, lambda: hub.wake(stream))
                    )
                    granted["taskIds"] = watched.granted
                    sources.append(watched.source)
                    if not kinds and uris is None:
                        sources = [watched.source]
                stream.sources = tuple(sources)
                stack.enter_context(hub.register(stream))
                channel.leave_place()
                await channel.write(encode_notification(ACKNOWLEDGED, {"notifications": granted, **mark}))
                await hub.hold(stream, channel.receive)
        return mark

    def _can_change(self, request: RequestContext, kind: str) -> bool:
        """Check whether the capabilities that the client was told of have changes of this list."""
        return kind != TOOLS or request.exposure.has_plain_tools

    async def _find_readable(self, request: RequestContext, uris: Sequence[str]) -> list[str]:
        """Find those that the caller may read. The others are left out, hidden ones as made-up ones, and audited."""
        found = {uri: self._may_read(request.caller, uri) for uri in uris}
        missing = [MissingName(LOOKUP_KIND, uri, b"{}") for uri, exists in found.items() if exists is None]
        if uris:
            await self._runner.record_lookups(request, len(uris), missing)
        return [uri for uri, may_read in found.items() if may_read]

    def _may_read(self, caller: Caller, uri: str) -> bool | None:
        """Check whether the caller may read a resource with their credential; None where it does not exist."""
        found = self._watches.sieve.get_view(caller).find_resource(uri)
        return None if found is None else has_scope(caller, found[0].tool)


def _parse_filter(notifications: Any) -> Mapping[str, Any]:
    """Raises: ProtocolError: it is no filter."""
    if type(notifications) is not dict:
        raise ProtocolError(INVALID_PARAMS, "Invalid params: notifications must be an object")
    wanted = cast("dict[str, Any]", notifications)
    for field in LIST_FIELDS:
        if type(wanted.get(field, False)) is not bool:
            raise ProtocolError(INVALID_PARAMS, f"Invalid params: notifications.{field} must be true or false")
    return wanted


def _parse_uris(value: Any) -> Sequence[str] | None:
    """Raises: ProtocolError: they are none, or too many."""
    if value is None:
        return None
    if type(value) is not list or not all(
        type(uri) is str and len(uri) <= MAX_URI_LENGTH for uri in cast("list[Any]", value)
    ):
        text = f"notifications.resourceSubscriptions must be an array of URIs of at most {MAX_URI_LENGTH} characters"
        raise ProtocolError(INVALID_PARAMS, f"Invalid params: {text}")
    uris = cast("list[str]", value)
    if len(uris) > MAX_SUBSCRIPTIONS:
        raise ProtocolError(
            INVALID_PARAMS, f"Invalid params: at most {MAX_SUBSCRIPTIONS} resources in one subscription"
        )
    return uris
