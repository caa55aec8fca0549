"""The data folder's MCPist for one `mcpist stdio`: joined where it runs, else started for as long as that lives."""

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import asyncpg

from cli.stdio.upstream import UpstreamEndpoint
from core.config.settings import Settings
from core.errors import MCPistError, Unavailable
from core.secret import Secret
from core.token_format import parse_token
from server.all_in_one import run_all_in_one
from server.bootstrap import OPERATOR_ACTOR
from server.data_folder import Report
from server.endpoint_file import find_running_server, is_answering
from server.operator_context import OperatorContext, open_operator_context
from server.postgres.errors import HomeInUse, PostgresError
from server.postgres.layout import find_layout
from server.postgres.lock import is_held
from server.ready import ServerReady
from server.role_database import get_utc_now

TOKEN_LIFETIME = timedelta(hours=12)
READY_TIMEOUT = 60.0
RESTART_GRACE = 3.0
"""Seconds in which a product that we had joined may come back, before we start one in its place."""
POLL_SECONDS = 0.05

log = logging.getLogger(__name__)

SubjectLookup = Callable[[OperatorContext], Awaitable[tuple[UUID, UUID]]]


class AttachedServer:
    """Implements :class:`cli.stdio.upstream.Upstream` on a data folder.

    `find_subject` finds the tenant and the user to speak for. Their tokens live for at most twelve hours and are
    revoked by :meth:`close`. `token` is a token to use instead. `on_start` is called when a product was started here.
    """

    def __init__(
        self,
        settings: Settings,
        report: Report,
        find_subject: SubjectLookup,
        *,
        token: Secret | None,
        on_start: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._report = report
        self._find_subject = find_subject
        self._token = token
        self._on_start = on_start
        self._turn = asyncio.Lock()
        self._endpoint: UpstreamEndpoint | None = None
        self._tokens: list[tuple[UUID, str]] = []
        self._unseen: str | None = None
        self._product: asyncio.Task[None] | None = None

    async def get_endpoint(self) -> UpstreamEndpoint:
        """Return the product's address and a token for it; both are made at the first call.

        Raises:
            core.errors.MCPistError, server.postgres.errors.PostgresError: with what to do.
        """
        async with self._turn:
            if self._endpoint is None:
                self._endpoint = await self._find_endpoint()
            return self._endpoint

    async def renew_endpoint(self, old: UpstreamEndpoint) -> UpstreamEndpoint:
        """Find the server again, after it has stopped or a token has expired."""
        async with self._turn:
            if self._endpoint is None or self._endpoint == old:
                self._endpoint = await self._find_endpoint(is_retry=True)
            return self._endpoint

    async def close(self) -> None:
        """Revoke what was made, and stop what was started."""
        try:
            if self._tokens:
                async with asyncio.timeout(10):
                    await self._revoke_tokens()
        except (MCPistError, PostgresError, asyncpg.PostgresError, OSError) as error:
            log.warning("a token was not revoked; it expires by itself", extra={"cause": type(error).__name__})
        finally:
            await self._stop_product()

    async def _find_endpoint(self, *, is_retry: bool = False) -> UpstreamEndpoint:
        url = await self._find_url(is_retry)
        return UpstreamEndpoint(url, self._token or await self._create_token())

    async def _find_url(self, is_retry: bool) -> str:
        loop = asyncio.get_running_loop()
        began = loop.time()
        while loop.time() - began < READY_TIMEOUT:
            server = find_running_server(self._settings.home)
            if server is not None and await is_answering(server.mcp_url, "/healthz"):
                return server.mcp_url
            patient = is_retry and self._product is None and loop.time() - began < RESTART_GRACE
            if not patient and not self._is_folder_owned() and (url := await self._start_product()):
                return url
            await asyncio.sleep(POLL_SECONDS)
        raise Unavailable(f"the MCPist on {self._settings.home} does not become ready; see its log, or `mcpist doctor`")

    def _is_folder_owned(self) -> bool:
        layout = None if self._settings.database_url else find_layout(self._settings.home)
        return layout is not None and is_held(layout.lock)

    async def _start_product(self) -> str | None:
        """Start MCPist in this process; None where another process was quicker."""
        await self._stop_product()
        ready: asyncio.Future[ServerReady] = asyncio.get_running_loop().create_future()
        settings = replace(self._settings, host="127.0.0.1", port=_find_free_port(), public_url="", metrics_port=0)
        self._product = asyncio.create_task(
            run_all_in_one(settings, self._report, ready.set_result), name="own product"
        )
        await asyncio.wait({self._product, ready}, return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            try:
                await self._product
            except HomeInUse:
                return None
            raise Unavailable("MCPist was stopped")
        self._on_start()
        first = ready.result().api_token
        self._unseen = token.id if first is not None and (token := parse_token(first.reveal())) else None
        return ready.result().mcp_url

    async def _create_token(self) -> Secret:
        async with open_operator_context(self._settings, self._report) as context:
            tenant_id, user_id = await self._find_subject(context)
            if self._unseen is not None:  # the token of the first start cannot be shown to anyone here
                await context.tokens.revoke(OPERATOR_ACTOR, tenant_id, self._unseen)
                self._unseen = None
            token_id, token = await context.tokens.create(
                OPERATOR_ACTOR,
                tenant_id,
                user_id,
                f"mcpist stdio, process {os.getpid()}",
                expires_at=get_utc_now() + TOKEN_LIFETIME,
            )
            self._tokens.append((tenant_id, token_id))
            return token

    async def _revoke_tokens(self) -> None:
        async with open_operator_context(self._settings, self._report) as context:
            for tenant_id, token_id in self._tokens:
                await context.tokens.revoke(OPERATOR_ACTOR, tenant_id, token_id)

    async def _stop_product(self) -> None:
        product, self._product = self._product, None
        if product is not None:
            product.cancel()
            await asyncio.wait([product])
            with contextlib.suppress(asyncio.CancelledError, MCPistError, PostgresError):
                product.result()


def _find_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
