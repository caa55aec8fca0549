"""The ASGI application of one process: which path goes where, and nothing else."""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any

Application = Callable[[Any, Any, Any], Awaitable[None]]
NO_PREFIXES: Mapping[str, Application] = MappingProxyType({})

NOT_FOUND = b'{"error":"not_found","error_description":"there is nothing at this address; MCP clients connect to /mcp"}'


class PathDispatcher:
    """Exact paths only, without a router: a route table would cost more than the rest of our own work on a call.

    `prefixes` are looked through for a path that is none of `paths`, and `otherwise` gets every other path: the pages
    and endpoints of the trust zone have a router of their own.
    """

    def __init__(self, paths: Mapping[str, Application], prefixes: Mapping[str, Application] = NO_PREFIXES) -> None:
        self._paths = paths
        self._prefixes = prefixes
        self.otherwise: Application = _send_not_found

    def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Awaitable[None]:
        if scope["type"] != "http":
            return _ignore()  # our server sends nothing else
        return (self._paths.get(scope["path"]) or self._find(scope["path"]))(scope, receive, send)

    def _find(self, path: str) -> Application:
        for prefix, application in self._prefixes.items():
            if path.startswith(prefix) and path != prefix:
                return application
        return self.otherwise


async def _ignore() -> None:
    """Answer nothing, as ASGI has it for protocols that an application does not know."""


async def _send_not_found(scope: dict[str, Any], receive: Any, send: Any) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(NOT_FOUND))]
    await send({"type": "http.response.start", "status": 404, "headers": headers})
    await send({"type": "http.response.body", "body": NOT_FOUND})
