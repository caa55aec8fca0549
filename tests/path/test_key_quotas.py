"""A quota that a vendor tells in a way of its own is a rate limit where its provider's data say so."""

from pathlib import Path
from typing import Any

import pytest

from tests.path.test_key_schemes import KEY, SCHEMES, form, shops
from tests.support.mcp_client import Answer
from tests.support.postgres import ScratchDatabase
from tests.support.product import Node, Person

__all__ = ["form"]

REMAINING, RESETS_IN = "X-Toggl-Quota-Remaining", "X-Toggl-Quota-Resets-In"
HEADER = SCHEMES["basic_user"][1]


async def call(node: Node, person: Person, module: str = "toggl", tool: str = "look") -> Answer:
    return await node.call(person.token, module, tool, {"what": "tea"})


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("tool", ["look", "buy"])
async def test_toggls_402_is_told_and_kept(database: ScratchDatabase, tmp_path: Path, tool: str) -> None:
    """Basic and 402 come from the shipped provider; the module knows nothing of them."""
    async with shops(database, tmp_path, HEADER) as app:
        ada, eve = await app.person("acme"), await app.person("globex")
        for person in (ada, eve):
            await app.at(person.tenant, "toggl")
            assert "Connected as ada" in await app.paste(person, "toggl", key=KEY)
        async with app.identity.product.gateway(allowed_private_hosts=app.hosts) as node:
            assert not (await call(node, ada)).failed
            app.vendor.refusal = (402, {REMAINING: "0", RESETS_IN: "1800"})
            app.vendor.seen.clear()
            answer = await call(node, ada, tool=tool)
            assert answer.failed
            assert "try again in 1800 s" in answer.text
            assert "vendor's own words" not in answer.text
            assert app.vendor.seen == [(f"/{tool}", *HEADER)], "asked once"
            app.vendor.refusal = None
            assert "try again in 1" in (await call(node, ada, tool=tool)).text
            assert len(app.vendor.seen) == 1, "not asked while there is nothing left"
            assert not (await call(node, eve, tool=tool)).failed, "another tenant's key has a quota of its own"


@pytest.mark.parametrize("headers", [{}, {REMAINING: "12", RESETS_IN: "1800"}, {RESETS_IN: "soon"}])
async def test_a_402_of_another_kind_is_no_limit(
    database: ScratchDatabase, tmp_path: Path, headers: dict[str, str]
) -> None:
    """Toggl answers 402 as well where a plan lacks a feature."""
    async with shops(database, tmp_path, HEADER) as app:
        ada = await app.person()
        await app.at(ada.tenant, "toggl")
        await app.paste(ada, "toggl", key=KEY)
        async with app.identity.product.gateway(allowed_private_hosts=app.hosts) as node:
            app.vendor.refusal = (402, headers)
            answer = await call(node, ada)
            assert "requires payment" in answer.text
            assert "try again in" not in answer.text
            app.vendor.refusal = None
            assert not (await call(node, ada)).failed


async def test_a_tenants_own_provider_has_a_quota(database: ScratchDatabase, tmp_path: Path) -> None:
    quota: dict[str, Any] = {"status": 420, "resets_in": "X-Calm-Down"}
    async with shops(database, tmp_path, SCHEMES["bearer"][1]) as app:
        ada, eve = await app.person("acme"), await app.person("globex")
        await app.provider(ada.tenant, "bearer", check=True, quota=quota)
        for person in (ada, eve):
            assert "Connected as ada" in await app.paste(person, "kiosk", key=KEY)
        app.vendor.refusal = (420, {"X-Calm-Down": "99"})
        assert "try again in 99 s" in (await app.call(ada, "kiosk")).text
        assert "try again in" not in (await app.call(eve, "kiosk")).text, "the other tenant's provider says nothing"
