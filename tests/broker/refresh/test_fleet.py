"""Several broker processes on one database: one call for all of them."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.broker.refresh.processes import broker_process
from tests.broker.refresh.refresh_app import RefreshApp
from tests.broker.refresh.vendor import HOUR, Vendor


@pytest.mark.guarantee("G1")
async def test_four_processes_with_five_hundred_callers_each_make_one_call(
    app: RefreshApp, strict: Vendor, tmp_path: Path
) -> None:
    account = await app.connect(strict)
    before = await app.token(account)
    await app.ahead(HOUR + 10)
    async with AsyncExitStack() as stack:
        starting = (stack.enter_async_context(broker_process(app, [strict], tmp_path)) for _ in range(4))
        fleet = await asyncio.gather(*starting)
        for _ in range(2):
            await asyncio.gather(*(one.fresh(app, account, callers=500, within=30) for one in fleet))
            for answer in [await one.told() for one in fleet]:
                assert answer["answers"] == {f"version {before.version + 1}": 500}
        assert await strict.calls() == 1
        rejected = before.version + 1
        await asyncio.gather(
            *(one.fresh(app, account, callers=500, within=30, rejected_version=rejected) for one in fleet)
        )
        # Just refreshed: the vendor's 401 changes nothing for now.
        assert {key for one in fleet for key in (await one.told())["answers"]} == {"refused"}
        await app.ahead(HOUR + 60)
        await asyncio.gather(
            *(one.fresh(app, account, callers=500, within=30, rejected_version=rejected) for one in fleet)
        )
        for answer in [await one.told() for one in fleet]:
            assert answer["answers"] == {f"version {before.version + 2}": 500}
    assert await strict.calls() == 2
    assert await strict.reuses() == 0
