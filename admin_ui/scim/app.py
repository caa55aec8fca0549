"""``/scim/v2``: an identity provider provisions the people and groups of one tenant (RFC 7644)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

import orjson
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from admin_ui.scim import documents, messages
from admin_ui.scim.documents import MAX_PAGE, Document
from admin_ui.scim.messages import ScimInvalid
from core.concurrency.rate_limits import AttemptLimits, CallerLimits
from core.directory.scim import MemberChange, NotUnique, ScimCaller, ScimDirectory
from core.errors import LimitReached, MCPistError, NotFound, Unavailable
from core.secret import Secret

PREFIX = "/scim/v2"
MEDIA_TYPE = "application/scim+json"
MAX_BODY_BYTES = 1024 * 1024
BODY_SECONDS = 20.0
REQUESTS_PER_SECOND, REQUEST_BURST, MAX_CONCURRENT = 25.0, 200, 8
"""Of one token; Entra ID sends about 25 requests a second."""

FAILURES_PER_MINUTE, FAILURE_BURST = 10, 20
MAX_OFFSET = 1_000_000
_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ScimDependencies:
    """What the application is built of. `verify` tells whom a bearer token speaks for; None for nobody."""

    directory: ScimDirectory
    verify: Callable[[Secret], Awaitable[ScimCaller | None]]
    get_client_address: Callable[[Request], str]
    public_url: str
    monotonic: Callable[[], float]
    callers: CallerLimits = field(init=False)
    failures: AttemptLimits = field(init=False)

    def __post_init__(self) -> None:
        limits = CallerLimits(REQUESTS_PER_SECOND, REQUEST_BURST, MAX_CONCURRENT, clock=self.monotonic)
        object.__setattr__(self, "callers", limits)
        object.__setattr__(self, "failures", AttemptLimits(FAILURES_PER_MINUTE, FAILURE_BURST, clock=self.monotonic))


class _Unauthenticated(MCPistError):
    status, code = 401, "unauthenticated"


_Handler = Callable[["ScimEndpoints", Request, ScimCaller], Awaitable[Response]]


def build_scim_app(parts: ScimDependencies) -> ASGIApp:
    """Build the application of everything below ``/scim/v2``; each error is in SCIM's form."""
    endpoints = ScimEndpoints(parts)

    def route(path: str, method: str, handle: _Handler) -> Route:
        async def answer(request: Request) -> Response:
            return await endpoints.answer(request, handle)

        return Route(PREFIX + path, answer, methods=[method])

    async def refuse(request: Request, error: Exception) -> Response:
        status = getattr(error, "status_code", 500)
        return _respond(documents.render_error(status, "there is nothing at this address, or nothing for you"), status)

    routes = [
        route("/ServiceProviderConfig", "GET", ScimEndpoints.show_configuration),
        route("/ResourceTypes", "GET", ScimEndpoints.list_resource_types),
        route("/ResourceTypes/{name}", "GET", ScimEndpoints.list_resource_types),
        route("/Schemas", "GET", ScimEndpoints.list_schemas),
        route("/Schemas/{name}", "GET", ScimEndpoints.list_schemas),
        route("/Users", "GET", ScimEndpoints.list_users),
        route("/Users", "POST", ScimEndpoints.create_user),
        route("/Users/{id}", "GET", ScimEndpoints.show_user),
        route("/Users/{id}", "PUT", ScimEndpoints.replace_user),
        route("/Users/{id}", "PATCH", ScimEndpoints.patch_user),
        route("/Users/{id}", "DELETE", ScimEndpoints.remove_user),
        route("/Groups", "GET", ScimEndpoints.list_groups),
        route("/Groups", "POST", ScimEndpoints.create_group),
        route("/Groups/{id}", "GET", ScimEndpoints.show_group),
        route("/Groups/{id}", "PUT", ScimEndpoints.replace_group),
        route("/Groups/{id}", "PATCH", ScimEndpoints.patch_group),
        route("/Groups/{id}", "DELETE", ScimEndpoints.remove_group),
    ]
    return Starlette(routes=routes, exception_handlers={404: refuse, 405: refuse})


class ScimEndpoints:
    """The handlers; :meth:`answer` is around each."""

    def __init__(self, parts: ScimDependencies) -> None:
        self._parts = parts
        self._directory = parts.directory
        self._base_url = parts.public_url + PREFIX

    async def answer(self, request: Request, handle: _Handler) -> Response:
        """Let a caller in and call the handler; whatever goes wrong becomes an error of SCIM."""
        try:
            caller = await self._authenticate(request)
            with self._parts.callers.track(str(caller.token_id)):
                return await handle(self, request, caller)
        except MCPistError as error:
            return _respond_error(error)
        except ClientDisconnect:
            return Response(status_code=400)
        except Exception as error:  # noqa: BLE001 nothing of it is told
            log.error("request failed", extra={"event": "scim_request_failed", "error": type(error).__name__})
            return _respond(documents.render_error(500, "something went wrong; the log says more"), 500)

    async def _authenticate(self, request: Request) -> ScimCaller:
        address = self._parts.get_client_address(request)
        self._parts.failures.check(address)
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        caller = None
        if scheme.lower() == "bearer" and 1 <= len(token) <= 200:
            caller = await self._parts.verify(Secret(token.strip()))
        if caller is None:
            self._parts.failures.record_failure(address)
            raise _Unauthenticated("give a SCIM token of this tenant: Authorization: Bearer …")
        return caller

    async def show_configuration(self, request: Request, caller: ScimCaller) -> Response:
        return _respond(documents.render_configuration(self._base_url))

    async def list_resource_types(self, request: Request, caller: ScimCaller) -> Response:
        return _respond_known(request, documents.list_resource_types(self._base_url))

    async def list_schemas(self, request: Request, caller: ScimCaller) -> Response:
        return _respond_known(request, documents.list_schemas(self._base_url))

    async def list_users(self, request: Request, caller: ScimCaller) -> Response:
        attribute, value = messages.parse_user_filter(_read_query(request, "filter"))
        start, count = _read_page(request)
        total, found = await self._directory.list_users(caller.tenant_id, attribute, value, start - 1, count)
        rendered = [documents.render_user(user, self._base_url) for user in found]
        return _respond(documents.render_list(rendered, total, start))

    async def create_user(self, request: Request, caller: ScimCaller) -> Response:
        wanted = messages.parse_user(await _read_body(request))
        user = await self._directory.create_user(caller.actor, caller.tenant_id, wanted)
        return _respond(documents.render_user(user, self._base_url), 201)

    async def show_user(self, request: Request, caller: ScimCaller) -> Response:
        user = await self._directory.get_user(caller.tenant_id, _read_id(request))
        return _respond(documents.render_user(user, self._base_url))

    async def replace_user(self, request: Request, caller: ScimCaller) -> Response:
        wanted = messages.parse_user(await _read_body(request))
        user = await self._directory.change_user(caller.actor, caller.tenant_id, _read_id(request), wanted)
        return _respond(documents.render_user(user, self._base_url))

    async def patch_user(self, request: Request, caller: ScimCaller) -> Response:
        body = await _read_body(request)
        before = await self._directory.get_user(caller.tenant_id, _read_id(request))
        wanted = messages.patch_user(before, body)
        user = await self._directory.change_user(caller.actor, caller.tenant_id, before.id, wanted)
        return _respond(documents.render_user(user, self._base_url))

    async def remove_user(self, request: Request, caller: ScimCaller) -> Response:
        await self._directory.remove_user(caller.actor, caller.tenant_id, _read_id(request))
        return Response(status_code=204, headers=_HEADERS)

    async def list_groups(self, request: Request, caller: ScimCaller) -> Response:
        attribute, value = messages.parse_group_filter(_read_query(request, "filter"))
        start, count = _read_page(request)
        total, found = await self._directory.list_groups(
            caller.tenant_id, attribute, value, start - 1, count, with_members=_wants_members(request)
        )
        rendered = [documents.render_group(group, self._base_url) for group in found]
        return _respond(documents.render_list(rendered, total, start))

    async def create_group(self, request: Request, caller: ScimCaller) -> Response:
        name, external_id, members = messages.parse_group(await _read_body(request))
        group = await self._directory.create_group(caller.actor, caller.tenant_id, name, external_id, members)
        return _respond(documents.render_group(group, self._base_url), 201)

    async def show_group(self, request: Request, caller: ScimCaller) -> Response:
        with_members = _wants_members(request)
        group = await self._directory.get_group(caller.tenant_id, _read_id(request), with_members=with_members)
        return _respond(documents.render_group(group, self._base_url))

    async def replace_group(self, request: Request, caller: ScimCaller) -> Response:
        name, external_id, members = messages.parse_group(await _read_body(request))
        change = MemberChange(name, external_id, replace=members)
        group = await self._directory.change_group(caller.actor, caller.tenant_id, _read_id(request), [change])
        return _respond(documents.render_group(group, self._base_url))

    async def patch_group(self, request: Request, caller: ScimCaller) -> Response:
        changes = messages.parse_group_patch(await _read_body(request))
        await self._directory.change_group(caller.actor, caller.tenant_id, _read_id(request), changes)
        return Response(status_code=204, headers=_HEADERS)  # a group may have more members than anybody wants back

    async def remove_group(self, request: Request, caller: ScimCaller) -> Response:
        await self._directory.remove_group(caller.actor, caller.tenant_id, _read_id(request))
        return Response(status_code=204, headers=_HEADERS)


async def _read_body(request: Request) -> Mapping[str, Any]:
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > MAX_BODY_BYTES:
                    raise _TooLarge("the body is too large: 1 MiB is the most")
    except TimeoutError:
        raise ScimInvalid("", "the body did not come in time") from None
    try:
        document: object = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise ScimInvalid("invalidSyntax", "the body is no JSON") from None
    if not isinstance(document, dict):
        raise ScimInvalid("invalidSyntax", "the body is no JSON object")
    return cast("dict[str, Any]", document)


class _TooLarge(MCPistError):
    status, code = 413, "too_large"


def _read_id(request: Request) -> UUID:
    text: str = request.path_params["id"]
    try:
        return UUID(text if len(text) == 36 else "")
    except ValueError:
        raise NotFound("there is nothing of this id") from None


def _read_query(request: Request, name: str) -> str:
    return request.query_params.get(name, "")


def _read_page(request: Request) -> tuple[int, int]:
    """The index of the first resource, from 1 on, and how many are wanted (RFC 7644 §3.4.2.4)."""

    def read(name: str, default: int) -> int:
        text = _read_query(request, name)
        if not text:
            return default
        if len(text) > 10 or not text.removeprefix("-").isdecimal() or not text.isascii():
            raise ScimInvalid("invalidValue", f"{name}: give a number")
        return int(text)

    start, count = max(1, read("startIndex", 1)), min(max(0, read("count", 100)), MAX_PAGE)
    if start > MAX_OFFSET:
        raise ScimInvalid("invalidValue", f"startIndex: give at most {MAX_OFFSET}")
    return start, count


def _wants_members(request: Request) -> bool:
    excluded = {name.strip().lower() for name in _read_query(request, "excludedAttributes").split(",")}
    return "members" not in excluded


def _respond_known(request: Request, found: Sequence[Document]) -> Response:
    name = request.path_params.get("name")
    if name is None:
        return _respond(documents.render_list(found, len(found), 1))
    for document in found:
        if document["id"] == name:
            return _respond(document)
    raise NotFound("there is nothing of this name")


def _respond(document: Document, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    location = document.get("meta", {}).get("location") if status == 201 else None
    more = {"Location": location} if location else {}
    return Response(orjson.dumps(document), status, {**_HEADERS, **more, **(headers or {})}, MEDIA_TYPE)


def _respond_error(error: MCPistError) -> Response:
    headers: dict[str, str] = {}
    scim_type = error.scim_type if isinstance(error, ScimInvalid) else ""
    if isinstance(error, _Unauthenticated):
        headers["WWW-Authenticate"] = 'Bearer realm="mcpist-scim"'
    elif isinstance(error, LimitReached | Unavailable):
        headers["Retry-After"] = str(max(1, -int(-error.retry_after // 1)))
    elif isinstance(error, NotUnique):
        scim_type = "uniqueness"
    elif error.status == 400 and not scim_type:
        scim_type = "invalidValue"
    detail = "there is nothing at this address, or nothing for you" if isinstance(error, NotFound) else str(error)
    return _respond(documents.render_error(error.status, detail, scim_type), error.status, headers)
