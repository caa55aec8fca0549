"""``/docs``: the API reference, for whoever is signed in; without a script, a frame or a request to elsewhere.

It is for people with a session because a page of this size costs more than a stranger's request should; the document
itself, ``/api/v1/openapi.json``, is for everybody, since generators of clients have no session.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from broker.identity.browser_sessions import Sessions
from broker.web.api_reference import MAX_QUERY, OperationGroup, build_reference, search_reference
from broker.web.cookies import find_browser_session
from broker.web.request_parsing import read_query
from broker.web.web_dependencies import WebDependencies

DOCS_PATH = "/docs"
FetchDocument = Callable[[], Awaitable[Mapping[str, Any]]]


def build_api_reference_routes(
    parts: WebDependencies, sessions: Sessions, fetch_document: FetchDocument
) -> list[Route]:
    """Build the route of the reference; `fetch_document` gives the OpenAPI document of this process."""
    page = ApiReferencePage(parts, sessions, fetch_document)
    return [Route(DOCS_PATH, page.show, methods=["GET"])]


class ApiReferencePage:
    """The handler. The reference is built once, when it is first asked for."""

    def __init__(self, parts: WebDependencies, sessions: Sessions, fetch_document: FetchDocument) -> None:
        self._parts = parts
        self._sessions = sessions
        self._fetch_document = fetch_document
        self._groups: tuple[OperationGroup, ...] | None = None

    async def show(self, request: Request) -> Response:
        query = read_query(request).get("q", "")[:MAX_QUERY]
        if await find_browser_session(self._parts.cookies, self._sessions, request) is None:
            return RedirectResponse(f"/sign-in?next={quote(DOCS_PATH, safe='')}", 303)
        if self._groups is None:
            document = await self._fetch_document()
            self._groups = await asyncio.to_thread(build_reference, document, self._parts.settings.public_url)
        found = search_reference(self._groups, query)
        count = sum(len(group.operations) for group in found)
        is_narrow = bool(query.strip()) and count <= 3
        return self._parts.pages.render(
            request, "api_reference.html", groups=found, query=query, count=count, is_narrow=is_narrow
        )
