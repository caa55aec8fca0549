"""Accounts as the product runs them: from the start of a process to its end."""

import asyncio

from broker.connections.account_snapshot import AccessToken
from broker.refresh.outcome import boottime
from broker.refresh.outcome_writer import OutcomeWriter
from broker.refresh.scheduler import run_refresher
from broker.refresh.spool import Spool
from tests.broker.refresh.rig import Rig
from tests.broker.refresh.vendor import HOUR, Vendor
from tests.support.eventually import within


async def test_it_refreshes_ahead_of_time_and_ends_what_is_under_way(rig: Rig, strict: Vendor) -> None:
    account = await rig.connect(strict)
    before = await rig.token(account)
    await rig.ahead(HOUR - 300)
    await strict.fault("delay_after", ms=400)
    tools = rig.tools
    async with run_refresher(
        rig.database, rig.vault, tools.providers, tools.endpoint, rig.spool, timing=tools.timing, every=0.02
    ):

        async def asked() -> bool:
            return await strict.calls() == 1

        await within(10, asked)
    row = await rig.row(account)
    assert (row["version"], row["lease_owner"]) == (before.version + 1, None)
    assert await strict.calls() == 1


async def test_what_was_in_the_spool_is_stored_before_anybody_asks(rig: Rig, strict: Vendor) -> None:
    account = await rig.connect(strict)
    await rig.ahead(HOUR + 10)
    spool = Spool(rig.spool)
    settler = OutcomeWriter(rig.database, rig.vault, spool, rig.tools.timing, boottime)
    spooled = asyncio.Event()
    real_keep = spool.write

    def keep(outcome: object) -> object:
        real_keep(outcome)  # type: ignore[arg-type]
        spooled.set()
        raise asyncio.CancelledError  # killed between the spool and the database

    spool.write = keep  # type: ignore[method-assign,assignment]
    dying = asyncio.create_task(rig.another(outcome_writer=settler).get_access_token(rig.tenant.id, account))
    await asyncio.gather(dying, return_exceptions=True)
    assert spooled.is_set()
    tools = rig.tools
    async with run_refresher(rig.database, rig.vault, tools.providers, tools.endpoint, rig.spool) as accounts:
        answer = await accounts.get_access_token(rig.tenant.id, account)
        assert isinstance(answer, AccessToken)
        assert await strict.takes(answer.token)
    assert await strict.calls() == 1
