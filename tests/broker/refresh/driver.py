"""A broker process for the fault tests: it opens the vault and refreshes accounts as it is told on standard input.

    python -m tests.broker.refresh.driver settings.json

Orders and answers are JSON, one a line; no answer holds a token. SIGTERM drains, as it does the product.
"""

import asyncio
import contextlib
import json
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import UUID

from broker.connections.account_snapshot import AccessToken
from broker.oauth_client.token_endpoint_client import HttpTokenEndpointClient
from broker.oauth_client.vendor_http import VendorHttpClient
from broker.providers.schema import Provider
from broker.refresh.decision import RefreshTiming
from broker.refresh.outcome import boottime
from broker.refresh.outcome_writer import OutcomeWriter
from broker.refresh.refresher import RefreshDependencies
from broker.refresh.spool import Spool
from broker.refresh.token_service import AccountTokenService
from broker.vault.key_wrapping import InMemoryKeyProvider
from broker.vault.vault import open_vault
from core.database_url import DatabaseAddress
from core.db import Database
from core.failpoints import arm_failpoints
from core.http.outbound_addresses import AllowedAddresses
from core.secret import Secret
from tests.broker.refresh.refresh_app import KEY, FixedProviders, now

EXIT_NOT_DRAINED = 3


class Driver:
    """Carries out orders, each in a task of its own."""

    def __init__(self, accounts: AccountTokenService, folder: Path) -> None:
        self._accounts = accounts
        self._folder = folder
        self._callers: set[asyncio.Task[Any]] = set()
        self._stopped = asyncio.Event()

    async def serve(self) -> bool:
        """Until standard input ends or SIGTERM comes; whether all refreshes had ended by then."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._stopped.set)
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        orders = asyncio.create_task(self._read(reader))
        await self._stopped.wait()
        orders.cancel()
        return await self._accounts.drain()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while line := await reader.readline():
            order = json.loads(line)
            match order.pop("do"):
                case "fresh":
                    self._keep(self._fresh(**order))
                case "cancel":
                    for caller in list(self._callers):
                        caller.cancel()
                case "arm":
                    arm_failpoints(self._folder, *order["names"])
        self._stopped.set()

    def _keep(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._callers.add(task)
        task.add_done_callback(self._callers.discard)

    async def _fresh(self, number: int, tenant: str, account: str, callers: int = 1, **options: Any) -> None:
        calls = [self._accounts.get_access_token(UUID(tenant), UUID(account), **options) for _ in range(callers)]
        try:
            answers = await asyncio.gather(*calls, return_exceptions=True)
        except asyncio.CancelledError:
            tell(number=number, cancelled=True)
            return
        tell(number=number, answers=dict(Counter(map(_word, answers))))


def _word(answer: object) -> str:
    if isinstance(answer, AccessToken):
        return f"version {answer.version}"
    return str(getattr(answer, "reason", type(answer).__name__))


def tell(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


async def main(settings: dict[str, Any]) -> int:
    folder = Path(settings["folder"])
    arm_failpoints(folder, *settings["names"])

    def clock() -> float:
        """The machine's clock, and how long a test says that it has slept."""
        asleep = folder / "asleep"
        return boottime() + (float(asleep.read_text()) if asleep.exists() else 0.0)

    timing = RefreshTiming(**settings.get("timing", {}))
    database = Database(DatabaseAddress(Secret(settings["database"])), timeout=5)
    http = VendorHttpClient(AllowedAddresses.from_hosts(settings["hosts"]))
    await database.open()
    await http.open()
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(database.close)
        stack.push_async_callback(http.close)
        vault = await open_vault(database, InMemoryKeyProvider("k1", {"k1": KEY}), clock=now)
        spool = Spool(folder / "spool")
        spool.open()
        settler = OutcomeWriter(database, vault, spool, timing, clock)
        providers = FixedProviders(Provider.model_validate(one) for one in settings["providers"])
        accounts = AccountTokenService(
            RefreshDependencies(database, vault, providers, HttpTokenEndpointClient(http), settler, timing, clock)
        )
        await accounts.replay_spool()
        tell(ready=True)
        return 0 if await Driver(accounts, folder).serve() else EXIT_NOT_DRAINED


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main(json.loads(Path(sys.argv[1]).read_text()))))
