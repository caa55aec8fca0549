"""A model that agents talk to: it answers as the APIs of Anthropic, OpenAI (responses, chat) and Gemini do.

It asks for one tool of an MCP server after another, each after the result of the one before, and then says that it is
done. It keeps what it was sent; also requests that no model answers, which show whom else an agent wants to reach.
"""

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

DONE = "It is done."

Body = dict[str, Any]
Events = list[tuple[str, Body]]
MOST_BODY = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Wish:
    """The tool that the model asks for, by its name at the MCP server, and the arguments."""

    tool: str
    arguments: dict[str, Any]


@dataclass(slots=True)
class ModelDouble:
    """`asked` are the requests that may have tools; `results` what the tools' results looked like to the model;
    `offered` the names of all tools that it could ask for."""

    wish: Wish | None
    then: tuple[Wish, ...] = ()
    asked: list[Body] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    offered: set[str] = field(default_factory=set)
    strangers: list[str] = field(default_factory=list)

    @property
    def first(self) -> Body:
        """The first request with tools in it."""
        return next(body for body in self.asked if body.get("tools"))

    def application(self) -> web.Application:
        """What to serve."""
        app = web.Application(client_max_size=MOST_BODY)
        app.router.add_post("/v1/messages", self._route(_Anthropic))
        app.router.add_post("/v1/responses", self._route(_Responses))
        app.router.add_post("/v1/chat/completions", self._route(_Chat))
        app.router.add_post("/v1beta/models/{model}", self._route(_Gemini))
        app.router.add_route("*", "/{path:.*}", self._stranger)
        return app

    def _route(self, api: "type[_Api]") -> Callable[[web.Request], Any]:
        async def answer(request: web.Request) -> web.Response:
            body: Body = await request.json()
            self.asked.append(body)
            found = api(body, streamed="stream" in request.path or bool(body.get("stream")))
            results = found.results()
            self.offered.update(found.tools())
            self.results = max(self.results, results, key=len)
            wishes = () if self.wish is None else (self.wish, *self.then)
            wish = wishes[len(results)] if len(results) < len(wishes) else None
            tool = None if wish is None else next((one for one in found.tools() if _is(one, wish.tool)), None)
            return found.say(DONE) if wish is None or tool is None else found.call(tool, wish.arguments)

        return answer

    async def _stranger(self, request: web.Request) -> web.Response:
        self.strangers.append(f"{request.method} {request.path}")
        return web.json_response({}, status=404)


@contextlib.asynccontextmanager
async def serving(application: web.Application, path: Path) -> AsyncIterator[None]:
    """Serve on a Unix socket."""
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        await web.UnixSite(runner, str(path)).start()
        yield
    finally:
        await runner.cleanup()


def _is(offered: str, tool: str) -> bool:
    """Agents put the server's name before the tool's, each in its own way."""
    return offered == tool or offered.endswith((f"__{tool}", f"mcpist_{tool}", f"mcpist-{tool}", f"/{tool}"))


class _Api:
    """One API: reads a request, writes answers."""

    def __init__(self, body: Body, *, streamed: bool) -> None:
        self.body = body
        self.streamed = streamed

    def tools(self) -> Iterator[str]:
        """The names of the tools that the model may ask for."""
        raise NotImplementedError

    def results(self) -> list[Any]:
        """What tools have answered."""
        raise NotImplementedError

    @property
    def call_id(self) -> str:
        """Of the next call."""
        return f"call_{len(self.results()) + 1}"

    def say(self, text: str) -> web.Response:
        raise NotImplementedError

    def call(self, tool: str, arguments: dict[str, Any]) -> web.Response:
        raise NotImplementedError


class _Anthropic(_Api):
    def tools(self) -> Iterator[str]:
        return (tool["name"] for tool in self.body.get("tools", []))

    def results(self) -> list[Any]:
        blocks = [block for message in self.body["messages"] for block in message["content"] if isinstance(block, dict)]
        return [_joined(block["content"]) for block in blocks if block["type"] == "tool_result"]

    def say(self, text: str) -> web.Response:
        delta = {"type": "text_delta", "text": text}
        return self._answer({"type": "text", "text": ""}, delta, {"type": "text", "text": text}, "end_turn")

    def call(self, tool: str, arguments: dict[str, Any]) -> web.Response:
        begun = {"type": "tool_use", "id": self.call_id, "name": tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        return self._answer(begun, delta, {**begun, "input": arguments}, "tool_use")

    def _answer(self, begun: Body, delta: Body, whole: Body, reason: str) -> web.Response:
        message = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": self.body["model"], "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        if not self.streamed:
            return web.json_response({**message, "content": [whole], "stop_reason": reason})
        end = {"stop_reason": reason, "stop_sequence": None}
        events: Events = [
            ("message_start", {"message": {**message, "content": [], "stop_reason": None}}),
            ("content_block_start", {"index": 0, "content_block": begun}),
            ("content_block_delta", {"index": 0, "delta": delta}),
            ("content_block_stop", {"index": 0}),
            ("message_delta", {"delta": end, "usage": {"output_tokens": 1}}),
            ("message_stop", {}),
        ]
        return _stream(events)


class _Responses(_Api):
    def tools(self) -> Iterator[str]:
        for tool in self.body.get("tools", []):
            inner = tool.get("tools", []) if tool["type"] == "namespace" else [tool]
            place = f"{tool['name']}/" if tool["type"] == "namespace" else ""
            yield from (f"{place}{one['name']}" for one in inner if "name" in one)

    def results(self) -> list[Any]:
        return [_joined(item["output"]) for item in self.body["input"] if item.get("type") == "function_call_output"]

    def say(self, text: str) -> web.Response:
        content = [{"type": "output_text", "text": text}]
        return self._answer({"type": "message", "role": "assistant", "id": "item_1", "content": content})

    def call(self, tool: str, arguments: dict[str, Any]) -> web.Response:
        namespace, _, name = tool.rpartition("/")
        item = {"type": "function_call", "id": "item_1", "call_id": self.call_id, "name": name}
        where = {"namespace": namespace} if namespace else {}
        return self._answer({**item, **where, "arguments": json.dumps(arguments)})

    def _answer(self, item: Body) -> web.Response:
        details = {"input_tokens_details": None, "output_tokens_details": None}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, **details}
        events: Events = [
            ("response.created", {"response": {"id": "response_1"}}),
            ("response.output_item.done", {"output_index": 0, "item": item}),
            ("response.completed", {"response": {"id": "response_1", "usage": usage}}),
        ]
        return _stream(events)


class _Chat(_Api):
    def tools(self) -> Iterator[str]:
        return (tool["function"]["name"] for tool in self.body.get("tools") or [])

    def results(self) -> list[Any]:
        return [_joined(message["content"]) for message in self.body["messages"] if message["role"] == "tool"]

    def say(self, text: str) -> web.Response:
        return self._answer({"role": "assistant", "content": text}, "stop")

    def call(self, tool: str, arguments: dict[str, Any]) -> web.Response:
        function = {"name": tool, "arguments": json.dumps(arguments)}
        called = {"index": 0, "id": self.call_id, "type": "function", "function": function}
        return self._answer({"role": "assistant", "content": None, "tool_calls": [called]}, "tool_calls")

    def _answer(self, message: Body, reason: str) -> web.Response:
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        whole = {"id": "chat_1", "created": 1, "model": self.body["model"], "usage": usage}
        choice = {"index": 0, "finish_reason": reason}
        if not self.streamed:
            choices = [{**choice, "message": message}]
            return web.json_response({**whole, "object": "chat.completion", "choices": choices})
        return _stream([("", {**whole, "object": "chat.completion.chunk", "choices": [{**choice, "delta": message}]})])


class _Gemini(_Api):
    def tools(self) -> Iterator[str]:
        groups = self.body.get("tools", [])
        return (one["name"] for group in groups for one in group.get("functionDeclarations", []))

    def results(self) -> list[Any]:
        parts = [part for content in self.body["contents"] for part in content["parts"]]
        answers = [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]
        return [answer.get("output", answer.get("error")) for answer in answers]

    def say(self, text: str) -> web.Response:
        return self._answer({"text": text})

    def call(self, tool: str, arguments: dict[str, Any]) -> web.Response:
        return self._answer({"functionCall": {"name": tool, "args": arguments}})

    def _answer(self, part: Body) -> web.Response:
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        answer = {"candidates": [candidate], "usageMetadata": usage}
        return _stream([("", answer)]) if self.streamed else web.json_response(answer)


def _stream(events: Events) -> web.Response:
    written = [
        f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n" if name else f"data: {json.dumps(data)}\n\n"
        for name, data in events
    ]
    return web.Response(text="".join(written), content_type="text/event-stream")


def _joined(content: Any) -> str:
    """Text, or blocks of text."""
    return content if isinstance(content, str) else "\n".join(block.get("text", "") for block in content)
