"""Every statement about tenant keys without its tenant filter: no foreign row is read, changed or removed."""

import ast
from collections.abc import AsyncIterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from broker.interface import TenantKeyLease
from core.errors import NotFound
from core.secret import Secret
from tests.broker.broker_harness import ACTOR, BrokerHarness, broker_harness_on
from tests.core.directory.test_isolation import FILTER, pair_mutants, watched
from tests.support.mutation import Mutator, find_leaks, together_and_alone
from tests.support.postgres import ScratchDatabase

WRITTEN_IN = Path(__file__).parents[3] / "broker" / "tenant_keys"
SLUGS = (f"tenant-{number}" for number in count())


@pytest.fixture
async def app(database: ScratchDatabase) -> AsyncIterator[BrokerHarness]:
    async with broker_harness_on(database) as made:
        yield made


async def told(app: BrokerHarness) -> list[Any]:
    """Keys that are stored, used, replaced and removed, in a tenant with the same names as all before it."""
    tenant = await app.tenant(next(SLUGS))
    ada = await app.person(tenant, "ada@example.test")
    said: list[Any] = []
    for kind, key in (("voyage", "pa-1"), ("openai", "sk-1"), ("voyage", "pa-2")):
        said.append((await app.tenant_keys.put(ACTOR, tenant, kind, Secret(key)))[0].last_used_at)
        found = await app.local.lease_tenant_key(ada.token, kind)
        said.append(found.key.reveal() if isinstance(found, TenantKeyLease) else found)
        listed = await app.tenant_keys.list(tenant)
        said.append([(one.kind.name, one.stored, one.last_used_at is not None) for one in listed])
    for kind in ("voyage", "voyage"):
        try:
            await app.tenant_keys.remove(ACTOR, tenant, kind)
            said.append("removed")
        except NotFound:
            said.append("none")
    said.append([one.stored for one in await app.tenant_keys.list(tenant)])
    return said


async def outcome(app: BrokerHarness, monkeypatch: pytest.MonkeyPatch, mutator: Mutator) -> tuple[list[Any], bool]:
    """What a story tells, and whether everything older was left alone."""
    before = await stored(app)
    with monkeypatch.context() as patch:
        watched(patch, mutator)
        said = await told(app)
    return said, before <= await stored(app)


async def stored(app: BrokerHarness) -> set[str]:
    async with app.database.admin_connection() as admin:
        return {row[0] for row in await admin.fetch("SELECT k::text FROM vault.tenant_keys k")}


def written() -> list[str]:
    trees = (ast.parse(path.read_text("utf-8")) for path in WRITTEN_IN.glob("*.py"))
    texts = (node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return sorted({text for text in texts if isinstance(text, str) and FILTER.search(text)})


@pytest.mark.guarantee("G9")
@together_and_alone
async def test_each_statement_without_its_filter_shows_and_changes_nothing_more(
    app: BrokerHarness, monkeypatch: pytest.MonkeyPatch, alone: bool
) -> None:
    mutator = Mutator()
    expected, untouched = await outcome(app, monkeypatch, mutator)
    assert untouched
    assert expected[-3:] == ["removed", "none", [True, False]]
    assert [sql for sql in written() if sql not in mutator.seen] == [], "a statement is missing from the story"
    assert len(written()) >= 5
    tell = partial(outcome, app, monkeypatch)
    assert await find_leaks(pair_mutants(written()), tell, (expected, True), alone=alone) == []
