"""Stored subscriptions: whose they are, and that row-level security holds where a statement forgets its filter."""

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from core.caller import Caller, Credential
from core.permissions import Policy
from gateway.streams import resource_subscriptions as stored
from gateway.streams.resource_subscriptions import ResourceSubscriptionStore
from tests.support.postgres import MadeTenant, ScratchDatabase

NOW = datetime(2026, 11, 27, 9, tzinfo=UTC)
URI = "resource://lab/status"
STATEMENTS = ("_INSERT", "_MAKE_ROOM", "_DELETE", "_LOAD", "_RENEW")
EVERYTHING = "SELECT tenant_id, user_id, uri, expires_at FROM core.resource_subscriptions ORDER BY 1, 2, 3"


def caller_of(tenant: UUID, user: UUID) -> Caller:
    """The same credential id and client everywhere: nothing but tenant and user tells them apart."""
    return Caller(Credential("token", "api_token", tenant, user, frozenset(), client="x"), "a@b.test", "user", Policy())


def _replace_filter(match: re.Match[str]) -> str:
    return f"{match[1] or match[2]}::uuid IS NOT NULL"


@pytest.mark.parametrize("unfiltered", [False, True])
async def test_nobody_reaches_the_subscriptions_of_others(
    database: ScratchDatabase,
    make_tenant: Callable[..., Awaitable[MadeTenant]],
    monkeypatch: pytest.MonkeyPatch,
    unfiltered: bool,
) -> None:
    if unfiltered:
        for name in STATEMENTS:
            sql = re.sub(r"(?:s\.)?(?:tenant_id = (\$1)|user_id = (\$2))", _replace_filter, getattr(stored, name))
            monkeypatch.setattr(stored, name, sql)
    people = [caller_of(made.id, made.users[0]) for made in (await make_tenant(users=1), await make_tenant(users=1))]
    async with database.open("mcpist_gateway") as gateway, database.admin_connection() as admin:
        store = ResourceSubscriptionStore(gateway, lambda: NOW)

        async def rows() -> list[Any]:
            return [tuple(row) for row in await admin.fetch(EVERYTHING)]

        for one in people:
            await store.add(one, URI)
        before = await rows()
        assert len(before) == 2
        assert await store.load(people[0]) == {URI}
        await store.remove(people[0], URI)
        assert await store.load(people[0]) == frozenset()
        assert await store.load(people[1]) == {URI}
        assert await rows() == [row for row in before if row[0] == people[1].tenant_id]
        for number in range(stored.MAX_SUBSCRIPTIONS + 5):
            await store.add(people[0], f"{URI}/{number}")
        assert len(await store.load(people[0])) == stored.MAX_SUBSCRIPTIONS
        assert await store.load(people[1]) == {URI}
