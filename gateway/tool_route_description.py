"""The OpenAPI description of tools' HTTP routes, made of the tools' own schemas (docs/memos.md).

The route is a client of /mcp, as the others are: it asks which of the tools exist for the caller, and describes those.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import orjson

from gateway.catalogue import CatalogueTool
from gateway.tool_routes import (
    CODE_OF_STATUS,
    MEMO_ROUTES,
    Application,
    CollectedAnswer,
    ToolRoute,
    ask_endpoint,
    build_meta_call,
    send_error,
    send_json,
    send_translated,
)

DESCRIPTION_PATH = "/rag/memo/openapi.json"
HEALTH_PATH = "/healthcheck"
_DEFINITIONS = "$defs"
_COMPONENTS = "#/components/schemas/"
_ERRORS = {
    400: "The request cannot be read",
    401: "There is no valid token",
    403: "The caller may not do this",
    404: "What is asked for, or the tool, does not exist for the caller",
    409: "The state of something, such as a missing key, is in the way",
    413: "The request is too large",
    422: "A parameter is wrong, or the result is too large",
    429: "Too many requests",
    500: "The tool failed",
    503: "Something that this needs does not answer",
    504: "The call took too long and was stopped",
}
_ERROR: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "error": {"type": "string", "description": "What is wrong, for people"},
        "code": {
            "type": ["string", "integer"],
            "description": f"For programs: {', '.join(sorted(set(CODE_OF_STATUS.values())))}, or one of the tool's own",
        },
    },
    "required": ["error", "code"],
}
_HEALTH: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "status": {"type": "string", "enum": ["ok", "unavailable"]},
        "store": {"type": "string"},
        "embedding_model": {"type": "string", "description": "Model of new collections"},
        "embedding_model_loaded": {"type": "boolean"},
    },
    "required": ["status", "store", "embedding_model", "embedding_model_loaded"],
}


class RouteDescriptionApplication:
    """The ASGI application that describes `routes`, all of one module, whose tools are `tools`."""

    def __init__(self, endpoint: Application, routes: Sequence[ToolRoute], tools: Sequence[CatalogueTool]) -> None:
        self._endpoint = endpoint
        self._routes = routes
        self._module = routes[0].module
        self._tools = {tool.name: tool for tool in tools}

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Serve one HTTP request (ASGI 3)."""
        if scope["method"] not in ("GET", "OPTIONS"):
            await send_error(send, 405, "Send GET", headers=[(b"allow", b"GET, OPTIONS")])
            return
        messages = [build_meta_call("get_module_schema", {"module": self._module, "detail": "names"})]

        async def receive_message() -> dict[str, Any]:
            if messages:
                return {"type": "http.request", "body": messages.pop(), "more_body": False}
            return await receive()

        answer = await ask_endpoint(self._endpoint, scope, receive_message)
        permitted = _read_names(answer)
        if permitted is None:
            await send_translated(send, answer)
            return
        routes = [route for route in self._routes if route.tool in permitted]
        described = describe_routes(routes, self._tools)
        await send_json(send, 200, described, answer.list_passed_headers())


def describe_routes(routes: Sequence[ToolRoute], tools: Mapping[str, CatalogueTool]) -> dict[str, Any]:
    """Describe routes in OpenAPI 3.1, whose schemas are those of JSON Schema 2020-12. The operation of a route has the
    name of its tool."""
    schemas: dict[str, Any] = {"Error": _ERROR, "Health": _HEALTH}
    paths: dict[str, Any] = {HEALTH_PATH: {"get": _describe_health()}}
    for route in routes:
        operation = _describe_operation(route, tools[route.tool], schemas)
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "MCPist", "version": "1", "description": "Tools of MCPist as HTTP routes"},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _describe_operation(route: ToolRoute, tool: CatalogueTool, schemas: dict[str, Any]) -> dict[str, Any]:
    arguments = _move_definitions(tool.input_schema, schemas)
    result = _move_definitions(tool.output_schema or {}, schemas)
    taken: dict[str, Any]
    if route.method == "GET":
        taken = {"parameters": _list_parameters(arguments)}
    else:
        taken = {"requestBody": {"required": True, "content": _as_json(arguments)}}
    return {
        "operationId": tool.name,
        "summary": tool.tool.title,
        "description": tool.tool.description,
        "tags": [tool.module],
        "security": [{"token": []}],
        **taken,
        "responses": {
            "200": {"description": "What the tool returns", "content": _as_json(result)},
            **{str(status): _describe_error(text) for status, text in _ERRORS.items()},
        },
    }


def _describe_health() -> dict[str, Any]:
    content = _as_json({"$ref": f"{_COMPONENTS}Health"})
    return {
        "operationId": "healthcheck",
        "summary": "Check whether the store answers and the embedding model is loaded",
        "security": [],
        "responses": {
            "200": {"description": "It works", "content": content},
            "503": {"description": "It does not", "content": content},
        },
    }


def _describe_error(text: str) -> dict[str, Any]:
    return {"description": text, "content": _as_json({"$ref": f"{_COMPONENTS}Error"})}


def _list_parameters(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the parameters of a query."""
    required = schema.get("required", ())
    return [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            "description": part.get("description", ""),
            "schema": {key: value for key, value in part.items() if key != "description"},
        }
        for name, part in schema.get("properties", {}).items()
    ]


def _as_json(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _move_definitions(schema: Mapping[str, Any], schemas: dict[str, Any]) -> Mapping[str, Any]:
    """Move the definitions within a schema among the description's own, to which its references then lead."""
    for name, part in schema.get(_DEFINITIONS, {}).items():
        schemas[name] = _redirect(part)
    return _redirect({name: part for name, part in schema.items() if name != _DEFINITIONS})


def _redirect(part: Any) -> Any:
    if isinstance(part, list):
        return [_redirect(one) for one in cast("list[Any]", part)]
    if not isinstance(part, Mapping):
        return part
    found = cast("Mapping[str, Any]", part)
    redirected = {name: _redirect(value) for name, value in found.items()}
    reference = found.get("$ref")
    if isinstance(reference, str):
        redirected["$ref"] = reference.replace(f"#/{_DEFINITIONS}/", _COMPONENTS)
    return redirected


def _read_names(answer: CollectedAnswer) -> frozenset[str] | None:
    """Read the names of the tools that exist for the caller; None where the answer is an error."""
    message: Any = orjson.loads(answer.body) if answer.body else {}
    result: Any = message.get("result")
    if result is None or result.get("isError"):
        return None
    (module,) = result["structuredContent"]["modules"]
    return frozenset(module["tools"])


def build_route_descriptions(
    endpoint: Application, tools: Mapping[str, Sequence[CatalogueTool]]
) -> dict[str, RouteDescriptionApplication]:
    """Build the application that describes the routes of memos, by its path; `tools` are those of each module."""
    module = MEMO_ROUTES[0].module
    if module not in tools:
        return {}
    return {DESCRIPTION_PATH: RouteDescriptionApplication(endpoint, MEMO_ROUTES, tools[module])}
