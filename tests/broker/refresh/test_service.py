"""Accounts as the product runs them: from the start of a process to its end."""

import asyncio
from typing import Any

from broker.connections.account_snapshot import AccessToken
from broker.refresh.outcome import boottime
from broker.refresh.outcome_writer import OutcomeWriter
from broker.refresh.scheduler import run_refresher
from broker.refresh.spool import Spool
from broker.refresh.token_service import AccountTokenService
from tests.broker.refresh.refresh_app import RefreshApp
from tests.broker.refresh.vendor import HOUR, Vendor
from tests.support.eventually import within


def hold_until_drained(accounts: AccountTokenService) -> None:
    """Let a refresh end no sooner than the end of the process waits for it, however slow this machine is."""
    is_awaited = asyncio.Event()
    refresh, finish = accounts._refresher.refresh_ahead, accounts._flights.finish

    async def refresh_slowly(*given: Any) -> Any:
        answer = await refresh(*given)
        await is_awaited.wait()
        return answer

    async def finish_awaited(timeout: float) -> bool:
        is_awaited.set()
        return await finish(timeout)

    accounts._refresher.refresh_ahead = refresh_slowly  # type: ignore[method-assign]
    accounts._flights.finish = finish_awaited  # type: ignore[method-assign]


async def test_it_refreshes_ahead_of_time_and_ends_what_is_under_way(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    before = await app.token(account)
    await app.ahead(HOUR - 300)
    await strict.fault("delay_after", ms=400)
    tools = app.tools
    async with run_refresher(
        app.database, app.vault, tools.providers, tools.endpoint, app.spool, timing=tools.timing, every=0.02
    ) as accounts:
        hold_until_drained(accounts)

        async def asked() -> bool:
            return await strict.calls() == 1

        await within(10, asked)
    assert len(accounts._flights) == 0, "the end has waited"
    row = await app.row(account)
    assert (row["version"], row["lease_owner"]) == (before.version + 1, None)
    assert await strict.calls() == 1


async def test_what_was_in_the_spool_is_stored_before_anybody_asks(app: RefreshApp, strict: Vendor) -> None:
    account = await app.connect(strict)
    await app.ahead(HOUR + 10)
    spool = Spool(app.spool)
    settler = OutcomeWriter(app.database, app.vault, spool, app.tools.timing, boottime)
    spooled = asyncio.Event()
    real_keep = spool.write

    def keep(outcome: object) -> object:
        real_keep(outcome)  # type: ignore[arg-type]
        spooled.set()
        raise asyncio.CancelledError  # killed between the spool and the database

    spool.write = keep  # type: ignore[method-assign,assignment]
    dying = asyncio.create_task(app.another(outcome_writer=settler).get_access_token(app.tenant.id, account))
    await asyncio.gather(dying, return_exceptions=True)
    assert spooled.is_set()
    tools = app.tools
    async with run_refresher(app.database, app.vault, tools.providers, tools.endpoint, app.spool) as accounts:
        answer = await accounts.get_access_token(app.tenant.id, account)
        assert isinstance(answer, AccessToken)
        assert await strict.takes(answer.token)
    assert await strict.calls() == 1
