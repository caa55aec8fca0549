"""The whole product as one ASGI application, for whoever serves it themselves: ``create_app(settings)``."""

import contextlib
import logging
from collections.abc import MutableMapping
from typing import Any

from core.config.settings import Settings
from core.errors import Invalid, MCPistError
from core.http_server.asgi import Application
from server.data_folder import start_database
from server.postgres.errors import PostgresError

STOPPED = (
    b'{"error":"unavailable","error_description":"MCPist is not running: the ASGI server sent no lifespan.startup"}'
)

log = logging.getLogger(__name__)


def create_app(settings: Settings) -> Application:
    """Create the application: /mcp, the pages, the admin API and the health routes. Modules come from the packages that
    are installed (core/module_packages.py); nothing switches authentication off.

    The database and everything else open at ``lifespan.startup`` and close at ``lifespan.shutdown``. One process serves
    it: `settings.host`, `port` and `workers` are the ASGI server's matter, and `settings.public_url` has to be stated.

    Raises:
        core.errors.Invalid: the settings ask for what only `mcpist up` does.
    """
    if settings.workers != 1:
        raise Invalid("MCPIST_WORKERS is for mcpist up; an application is one process")
    return _ProductApplication(settings)


class _ProductApplication:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._app: Application | None = None

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._run_lifespan(receive, send)
        elif self._app is not None:
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(STOPPED))]
            await send({"type": "http.response.start", "status": 503, "headers": headers})
            await send({"type": "http.response.body", "body": STOPPED})

    async def _run_lifespan(self, receive: Any, send: Any) -> None:
        await receive()
        async with contextlib.AsyncExitStack() as stack:
            try:
                self._app = await self._open(stack)
            except (MCPistError, PostgresError) as error:
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                return
            await send({"type": "lifespan.startup.complete"})
            await receive()
            self._app = None
        await send({"type": "lifespan.shutdown.complete"})

    async def _open(self, stack: contextlib.AsyncExitStack) -> Application:
        from server.serving import open_product_application  # four fifths of a start

        deployment = await stack.enter_async_context(start_database(self._settings, _log_progress))
        return await stack.enter_async_context(open_product_application(self._settings, deployment))


def _log_progress(text: str) -> None:
    log.info("%s", text, extra={"event": "application_starting"})
