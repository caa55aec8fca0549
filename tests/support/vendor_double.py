"""What the doubles of all vendors share: a server that holds each request, and its own answers, against the
vendor's API description.

    class JiraDouble(VendorDouble):
        def authenticate(self, request): ...     # who asks; raises VendorRefusal
        def build_refusal(self, status, reason): ...   # a refusal in the vendor's own form

    async with serve_double(JiraDouble(contract("jira"), ROUTES)) as double:
        double.url
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote

import orjson
from aiohttp import web

from tests.support.vendor_contract import Contract, Sent

Json = dict[str, Any]


class VendorRefusal(Exception):
    """An answer from 400 on, raised by a handler or queued for the next request."""

    def __init__(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(str(body))
        self.status, self.body, self.headers = status, body, dict(headers or {})


class EdgeRefusal(VendorRefusal):
    """A refusal of what stands in front of the vendor's API, which the API's description does not know."""


@dataclass(frozen=True, slots=True)
class VendorReply:
    """An answer that is not JSON with status 200: bytes are sent as they are, None as no body, the rest as JSON. `cut`:
    the connection ends in the middle of the body, or before the answer where there is none."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    cut: bool = False


@dataclass(frozen=True, slots=True)
class VendorCall:
    """A request as described: path values and query decoded, a JSON body read. `caller` is what authenticate() gave;
    `repeated` has all values of each query parameter, `query` the last."""

    caller: Any
    values: dict[str, str]
    query: dict[str, str]
    headers: Mapping[str, str]
    raw: bytes
    repeated: Mapping[str, list[str]] = field(default_factory=dict[str, list[str]])

    @property
    def body(self) -> Any:
        return orjson.loads(self.raw) if self.raw else {}


Handler = Callable[[VendorCall], Any]
Operation = tuple[str, str]
"""Method in lower case, and path template as in the description."""


class VendorDouble:
    """A vendor of its own.

    `wrong` lists what was not as the description says, in requests or in the double's answers; `seen` each request, as
    ``GET /path?query``; `bodies` what was sent with it, `secrets` the credential, `replies` what it got, and `answers`
    those of them that are JSON. `tokens` are those that it knows, with what they may; a double without them knows its
    callers in another way.
    """

    def __init__(self, contract: Contract, routes: Mapping[Operation, Handler], *, prefix: str = "") -> None:
        """`prefix` is a path before all templates, such as ``/ex/jira/{cloud}`` filled."""
        self.contract = contract
        self.url = ""
        self.prefix = prefix
        self.wrong: list[str] = []
        self.seen: list[str] = []
        self.bodies: list[bytes] = []
        self.secrets: list[str] = []
        self.answers: list[bytes] = []
        self.replies: list[VendorReply] = []
        self.tokens: dict[str, Any] = {}
        self.refusals: list[VendorRefusal | VendorReply | None] = []
        """For the next requests that are as described, one each; None lets one through."""
        self._gate: asyncio.Event | None = None
        self._routes = routes
        self._forms = {
            operation: re.compile(re.sub(r"\\\{([^{}]+)\\\}", r"([^/]+)", re.escape(operation[1])))
            for operation in routes
        }

    def read_secret(self, request: web.Request) -> str:
        """The credential of a request, as a person would paste it."""
        return request.headers.get("Authorization", "").partition(" ")[2]

    def authenticate(self, request: web.Request) -> Any:
        """Return who asks.

        Raises:
            VendorRefusal: nobody that the vendor knows, or a header is missing that it demands.
        """
        raise NotImplementedError

    def build_refusal(self, status: int, reason: str) -> VendorRefusal:
        """Build a refusal in the vendor's own form: 400 for what is not as described, 404 for no operation."""
        raise NotImplementedError

    def check_call(self, operation: Operation, call: VendorCall) -> None:
        """Refuse what the description allows and the vendor does not: scopes, limits.

        Raises:
            VendorRefusal: it is refused.
        """

    @contextlib.asynccontextmanager
    async def hanging(self) -> AsyncIterator[None]:
        """Let all requests wait until the block is left."""
        self._gate = asyncio.Event()
        try:
            yield
        finally:
            self._gate.set()
            self._gate = None

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer any request."""
        if self._gate is not None:
            await self._gate.wait()
        self.seen.append(f"{request.method} {request.raw_path}")
        self.secrets.append(self.read_secret(request))
        raw = await request.read()
        self.bodies.append(raw)
        try:
            reply = self._answer(request, raw)
        except VendorRefusal as refused:
            reply = VendorReply(refused.status, refused.body, refused.headers)
        self.replies.append(reply)
        if reply.cut:
            return await cut_connection(request, reply.body)
        if reply.body is None or isinstance(reply.body, bytes):
            return web.Response(status=reply.status, body=reply.body, headers=dict(reply.headers))
        body = orjson.dumps(reply.body)
        self.answers.append(body)
        headers = {"Content-Type": "application/json", **reply.headers}
        return web.Response(status=reply.status, body=body, headers=headers)

    def _answer(self, request: web.Request, raw: bytes) -> VendorReply:
        caller = self.authenticate(request)
        raw_path, _, raw_query = request.raw_path.partition("?")
        method = request.method.lower()
        operation, parts = self._find(method, raw_path.removeprefix(self.prefix))
        if operation is None or not raw_path.startswith(self.prefix):
            self.wrong.append(f"no such operation: {request.method} {raw_path}")
            raise self.build_refusal(404, f"no operation {request.method} {raw_path}")
        values = dict(zip(re.findall(r"\{([^{}]+)\}", operation[1]), map(unquote, parts), strict=True))
        pairs = parse_qsl(raw_query, keep_blank_values=True)
        repeated: dict[str, list[str]] = {}
        for name, value in pairs:
            repeated.setdefault(name, []).append(value)
        sent = Sent(method, operation[1], values, repeated, dict(request.headers), raw)
        if wrong := self.contract.wrong(sent):
            self.wrong.append(f"{request.method} {raw_path}: {wrong}")
            raise self.build_refusal(400, wrong)
        if self.refusals and (queued := self.refusals.pop(0)) is not None:
            if isinstance(queued, VendorRefusal):
                raise queued
            return queued
        call = VendorCall(caller, values, dict(pairs), request.headers, raw, repeated)
        made = self._run(operation, call)
        reply = made if isinstance(made, VendorReply) else VendorReply(200, made)
        is_json = reply.headers.get("Content-Type", "application/json").startswith("application/json")
        if is_json and (wrong := self.contract.wrong_answer(*operation, reply.status, reply.body)):
            self.wrong.append(f"the double's own answer: {wrong}")
        return reply

    def _run(self, operation: Operation, call: VendorCall) -> Any:
        """Answer a request that is as described, or refuse it as described."""
        try:
            self.check_call(operation, call)
            return self._routes[operation](call)
        except EdgeRefusal:
            raise
        except VendorRefusal as refused:
            if wrong := self.contract.wrong_answer(*operation, refused.status, refused.body):
                self.wrong.append(f"the double's own refusal: {wrong}")
            raise

    def find_operation(self, request: str) -> Operation | None:
        """The operation of a request as it stands in `seen`."""
        method, _, target = request.partition(" ")
        return self._find(method.lower(), target.partition("?")[0].removeprefix(self.prefix))[0]

    def _find(self, method: str, path: str) -> tuple[Operation | None, tuple[str, ...]]:
        """The operation that a path names; one without placeholders wins over one that has some."""
        known = sorted(self._forms, key=lambda operation: operation[1].count("{"))
        for operation in known:
            if operation[0] == method and (found := self._forms[operation].fullmatch(path)):
                return operation, found.groups()
        return None, ()


async def cut_connection(request: web.Request, body: bytes | None) -> web.StreamResponse:
    """End the connection behind `body`, where there is one, of an answer that promised more; else without an answer."""
    if body is None:
        response: web.StreamResponse = web.Response()
    else:
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "100000"})
        await response.prepare(request)
        await response.write(body)
    assert request.transport
    request.transport.close()
    return response


Double = TypeVar("Double", bound=VendorDouble)


@contextlib.asynccontextmanager
async def serve_double(double: Double, *, max_bytes: int = 64 * 2**20) -> AsyncIterator[Double]:
    """Serve a double on a port of this machine only.

    Raises:
        AssertionError: at the end, if a request or an answer was not as the vendor describes it.
    """
    app: Any = web.Application(client_max_size=max_bytes)
    app.router.add_route("*", "/{anything:.*}", double.handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        double.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield double
    finally:
        await runner.cleanup()
    assert not double.wrong, "\n".join(double.wrong[:5])
