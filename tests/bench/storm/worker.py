"""One broker process under load: callers who ask for random connections until SIGTERM.

python -m tests.bench.storm.worker settings.json
"""

import asyncio
import contextlib
import json
import random
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import asyncpg

from broker.oauth_client.token_endpoint_client import HttpTokenEndpointClient
from broker.oauth_client.types import OAuthClientConfig
from broker.oauth_client.vendor_http import VendorHttpClient
from broker.providers.schema import Provider
from broker.refresh.decision import RefreshTiming
from broker.refresh.outcome import Attempt, boottime
from broker.refresh.outcome_writer import OutcomeWriter
from broker.refresh.refresher import RefreshDependencies
from broker.refresh.spool import Spool
from broker.refresh.token_service import AccountTokenService
from broker.vault.key_wrapping import InMemoryKeyProvider
from broker.vault.vault import open_vault
from core.database_url import DatabaseAddress
from core.db import Database, UnitOfWork
from core.errors import MCPistError
from core.http.outbound_addresses import AllowedAddresses
from core.secret import Secret
from tests.bench.storm.others import OTHERS, TROUBLE, Refreshing
from tests.broker.refresh.refresh_app import KEY, FixedProviders, now

NEED = 0.1
CALLERS = 12

T = TypeVar("T")


class Mcpist:
    """The product's own."""

    def __init__(self, accounts: AccountTokenService, tenant: UUID) -> None:
        self._accounts = accounts
        self._tenant = tenant

    async def fresh(self, connection: UUID) -> None:
        await self._accounts.get_access_token(self._tenant, connection, need_seconds=NEED, within=5)


class WritesOnce(OutcomeWriter):
    """The same, but an answer that the database does not take at once is lost."""

    async def _retry_until_written(
        self, attempt: Attempt, write: Callable[[UnitOfWork], Awaitable[T]], spooled: Path | None = None
    ) -> T:
        async with self._database.tenant(attempt.ref.tenant_id) as work:
            return await write(work)


@contextlib.asynccontextmanager
async def refreshing(settings: dict[str, Any]) -> AsyncIterator[Refreshing]:
    """What the settings name, ended as its process should end."""
    async with contextlib.AsyncExitStack() as stack:
        http = VendorHttpClient(AllowedAddresses.from_hosts([settings["host"]]))
        await http.open()
        stack.push_async_callback(http.close)
        endpoint, provider = HttpTokenEndpointClient(http), Provider.model_validate(settings["provider"])
        if settings["serialisation"] in OTHERS:
            pool = await asyncpg.create_pool(**_address(settings).connect_args(), max_size=10, command_timeout=10)
            stack.push_async_callback(_terminated, pool)
            client = OAuthClientConfig(settings["client_id"], Secret(settings["client_secret"]))
            yield OTHERS[settings["serialisation"]](pool, provider, client, endpoint)
            return
        database = Database(_address(settings), timeout=5)
        await database.open()
        stack.push_async_callback(database.close)
        vault = await open_vault(database, InMemoryKeyProvider("k1", {"k1": KEY}), clock=now)
        ours = settings["serialisation"] == "mcpist"
        spool = Spool(Path(settings["spool"])) if ours else None
        if spool is not None:
            spool.open()
        settler = (OutcomeWriter if ours else WritesOnce)(database, vault, spool, RefreshTiming(), boottime)
        accounts = AccountTokenService(
            RefreshDependencies(database, vault, FixedProviders([provider]), endpoint, settler, RefreshTiming())
        )
        await accounts.replay_spool()
        yield Mcpist(accounts, UUID(settings["tenant"]))
        await accounts.drain()


def _address(settings: dict[str, Any]) -> DatabaseAddress:
    return DatabaseAddress(Secret(settings["database"]))


async def _terminated(pool: Any) -> None:
    pool.terminate()


async def _call(way: Refreshing, connections: list[UUID], ending: asyncio.Event) -> None:
    while not ending.is_set():
        try:
            await way.fresh(random.choice(connections))
        except (*TROUBLE, MCPistError):
            await asyncio.sleep(0.05)
        await asyncio.sleep(random.random() * 0.02)


async def main(settings: dict[str, Any]) -> None:
    ending = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ending.set)
    connections = [UUID(one) for one in settings["connections"]]
    async with refreshing(settings) as way:
        print("ready", flush=True)
        await asyncio.gather(*(_call(way, connections, ending) for _ in range(CALLERS)))


if __name__ == "__main__":
    asyncio.run(main(json.loads(Path(sys.argv[1]).read_text())))
