"""One application out of routers: the same errors, limits and OpenAPI document for the routes of every part."""

import asyncio
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from core.api.authorization import DeclaredRoute
from core.api.middleware import ApiMiddleware
from core.api.problem_details import MEDIA_TYPE, ProblemDetails, install_error_handlers
from core.api.security import ApiSecurity

API_PREFIX = "/api/v1"
OPENAPI_PATH = f"{API_PREFIX}/openapi.json"
_ERROR_RESPONSE: dict[int | str, dict[str, Any]] = {
    "default": {
        "model": ProblemDetails,
        "description": "Error, as a problem document.",
        "content": {MEDIA_TYPE: {}},
    }
}
_SECURITY: Mapping[str, Any] = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API token, or an access token of MCPist's own."},
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "__Host-mcpist-session",
        "description": "A browser's session.",
    },
}


def create_router(tag: str) -> APIRouter:
    """Create an empty router below ``/api/v1`` whose routes have to declare who may call them."""
    return APIRouter(prefix=API_PREFIX, route_class=DeclaredRoute, tags=[tag], responses=_ERROR_RESPONSE)


def describe_existing_response(view: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    """Describe the answer 200 of a route that creates something which exists already."""
    return {200: {"model": view, "description": "The object exists already, as requested."}}


@dataclass(frozen=True, slots=True)
class ApiSection:
    """Some routes, and what they find in the application's state."""

    routers: tuple[APIRouter, ...]
    state: Mapping[str, object]


def build_application(security: ApiSecurity, sections: Sequence[ApiSection], version: str) -> ASGIApp:
    """Build the application that serves these sections under ``/api/v1``, with one OpenAPI document.

    Raises:
        TypeError: a route does not declare who may call it.
    """
    return ApiMiddleware(build_fastapi_app(security, sections, version))


def build_fastapi_app(security: ApiSecurity, sections: Sequence[ApiSection], version: str) -> FastAPI:
    """Build the FastAPI application without the middleware around it, for tests that look at its routes."""
    app = FastAPI(
        title="MCPist",
        version=version,
        description="Administration of MCPist. Errors are problem documents (RFC 9457) with a stable `code`.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.door = security
    for section in sections:
        for name, part in section.state.items():
            setattr(app.state, name, part)
        for router in section.routers:
            app.router.routes.extend(router.routes)  # include_router() builds each a second time: 150 ms for all
    install_error_handlers(app)
    app.state.openapi = OpenApiDocument(app, tuple(list_declared_routes(sections)))
    app.add_route(OPENAPI_PATH, _serve_openapi, include_in_schema=False)
    return app


def list_declared_routes(sections: Sequence[ApiSection]) -> Iterator[DeclaredRoute]:
    """Return all routes of the sections.

    Raises:
        TypeError: one is not of the kind that has to declare who may call it.
    """
    for router in (router for section in sections for router in section.routers):
        for route in router.routes:
            if not isinstance(route, DeclaredRoute):
                raise TypeError(f"{route} is not declared: make routers with core.api.app.create_router")
            yield route


class OpenApiDocument:
    """The OpenAPI document of an application, built when it is first read: that takes longer than all the rest."""

    def __init__(self, app: FastAPI, routes: Iterable[DeclaredRoute]) -> None:
        self._app = app
        self._routes = routes
        self._document: dict[str, Any] | None = None
        self._lock = threading.Lock()

    def read(self) -> dict[str, Any]:
        """Return the document. Blocks for half a second at the first call."""
        with self._lock:
            if self._document is None:
                self._document = _build_openapi_document(self._app, self._routes)
            return self._document


def _build_openapi_document(app: FastAPI, routes: Iterable[DeclaredRoute]) -> dict[str, Any]:
    """Build the OpenAPI document: who may call each route stands in it, and errors have their own media type."""
    document = app.openapi()
    document.setdefault("components", {})["securitySchemes"] = dict(_SECURITY)
    for route in routes:
        for method in route.methods or ():
            operation = document["paths"][route.path_format][method.lower()]
            operation["x-access"] = route.access.to_openapi()
            operation["security"] = [] if route.access.required_role == "anyone" else [{"bearer": []}, {"session": []}]
    if "JsonValue" in document["components"].setdefault("schemas", {}):
        document["components"]["schemas"]["JsonValue"]["description"] = "Any JSON value."
    for operations in document["paths"].values():
        for operation in operations.values():
            operation["summary"] = _get_summary(operation)
            content = operation["responses"]["default"]["content"]
            content[MEDIA_TYPE] = content.pop("application/json")
    return document


def _get_summary(operation: Mapping[str, Any]) -> str:
    """Get the first paragraph of a route's docstring, which is its title in an API reference."""
    first = operation.get("description", "").partition("\n\n")[0]
    return " ".join(first.split()).removesuffix(".")


async def _serve_openapi(request: Request) -> Response:
    return JSONResponse(await asyncio.to_thread(request.app.state.openapi.read))
