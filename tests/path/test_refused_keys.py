"""A vendor says 401 to a pasted key: what callers hear, what is asked again, and how it ends; by HTTP, and with the
product's own process that asks."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from core.secret import Secret
from gateway.catalogue import build_catalogue
from server.wiring.disconnect import build_disconnect_services
from tests.broker.connect.connect_app import Browser, shown
from tests.support.canary import SUITE
from tests.support.eventually import within
from tests.support.identity import Identity, identity_on
from tests.support.mcp_client import Answer, Client
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR, SPLIT, Node, Person, product_on
from tests.support.toy_vendor import Shop, shop, shop_module

MINUTE = 60


@dataclass
class Square:
    """A product with its pages and the task that asks vendors again, a shop, and two gateways more."""

    identity: Identity
    shop: Shop
    nodes: tuple[Node, Node]
    shift: float = 0.0

    async def person(self, slug: str) -> Person:
        """Somebody with a key of their own."""
        product, zone = self.identity.product, self.identity.zone
        made = await product.person(await product.tenant(slug), f"ada@{slug}.test", allow=["shop.*"])
        credentials = build_disconnect_services(
            zone.database, zone.vault, zone.oauth_http, clock=zone.clock
        ).credentials
        owner = await credentials.resolve_owner(made.tenant.id, email=made.email)
        key = self.key_of(made)
        self.shop.tokens[key] = slug
        await credentials.put(ACTOR, made.tenant.id, "shop", owner, Secret(key), slug)
        return made

    def key_of(self, person: Person) -> str:
        return f"key-0123456789-of-{person.tenant.slug}"

    async def call(self, person: Person, node: int = 0, tool: str = "look") -> Answer:
        return await self.nodes[node].call(person.token, "shop", tool, {"what": "tea"})

    async def later(self, seconds: float) -> None:
        """Shift the clock of whoever asks again."""
        self.shift += seconds
        async with self.identity.product.database.admin_connection() as admin:
            await admin.execute(
                "CREATE OR REPLACE FUNCTION vault.clock() RETURNS timestamptz LANGUAGE sql VOLATILE "
                f"RETURN clock_timestamp() + interval '{self.shift} seconds'"
            )

    async def asked_again(self, seconds: float) -> None:
        """Let time pass, until the vendor was asked by the product itself."""
        before = self.questions()
        await self.later(seconds)

        async def more() -> bool:
            return self.questions() > before

        await within(5, more)

    def questions(self) -> int:
        return sum(path == "GET /me" for _, path in self.shop.asked)

    async def standing(self, person: Person) -> dict[str, str]:
        """What the admin API shows of their connection."""
        headers = {"Cookie": await self.identity.session(person), "Origin": self.identity.url}
        async with httpx2.AsyncClient(base_url=f"{self.identity.url}/api/v1", headers=headers) as http:
            (one,) = (await http.get("/connections")).json()["items"]
            return one

    async def page(self, person: Person) -> str:
        async with httpx2.AsyncClient(timeout=20) as http:
            browser = Browser(http, self.identity.url)
            await browser.sign_in(self.identity, person)
            return shown(await browser.get("/connect/shop"))

    async def mark(self, person: Person) -> str:
        """How get_module_schema shows it."""
        client = Client(self.identity.gateway.app, SUITE.hear)
        answer = await client.tool(person.token, "get_module_schema", {"module": "shop"})
        return answer.value["modules"][0]["connection"]


@pytest.fixture(params=["one process", "split"])
async def square(
    request: pytest.FixtureRequest, database: ScratchDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Square]:
    monkeypatch.setenv(SPLIT, "" if request.param == "one process" else "1")
    monkeypatch.setattr("broker.rejections.recheck.RECHECK_INTERVAL", 0.02)
    async with contextlib.AsyncExitStack() as stack:
        vendor = await stack.enter_async_context(shop())
        product = await stack.enter_async_context(
            product_on(database, tmp_path / "home", catalogue=build_catalogue([shop_module(vendor.url)]))
        )
        hosts: dict[str, Any] = {"allowed_private_hosts": (vendor.host,)}
        identity = await stack.enter_async_context(identity_on(product, providers=False, **hosts))
        nodes = [await stack.enter_async_context(product.gateway(public_url=identity.url, **hosts)) for _ in range(2)]
        yield Square(identity, vendor, (nodes[0], nodes[1]))


async def test_two_refusals_in_one_call_end_no_key(square: Square) -> None:
    ada, eve = await square.person("acme"), await square.person("globex")
    assert not (await square.call(ada)).failed
    del square.shop.tokens[square.key_of(ada)]
    for node in (0, 1):
        refused = await square.call(ada, node)
        assert "refuses your account or key just now" in refused.text
        assert f"connect it again at {square.identity.url}/connect/shop" in refused.text
        assert "vendor's own words" not in refused.text
    sent = len(square.shop.asked)
    for node in (0, 1):
        held = await square.call(ada, node, "buy")
        assert "try again in" in held.text
    assert len(square.shop.asked) == sent, "nothing is sent with it meanwhile"
    assert await square.mark(ada) == "connected", "what passes by itself is no mark"
    standing = await square.standing(ada)
    assert (standing["state"], standing["cause"], standing["responsible"]) == ("refused", "in_doubt", "")
    assert standing["next_retry_at"]
    assert "refuses this account or key just now" in await square.page(ada)
    assert not (await square.call(eve)).failed

    square.shop.tokens[square.key_of(ada)] = "acme"
    await square.asked_again(2 * MINUTE)

    async def works() -> bool:
        return not (await square.call(ada)).failed

    await within(5, works)
    assert (await square.standing(ada))["state"] == "connected"
    assert await square.identity.product.events(ada.tenant, "credential.broken") == []


async def test_a_revoked_key_is_told_and_comes_back_if_it_was_none(square: Square) -> None:
    ada = await square.person("acme")
    del square.shop.tokens[square.key_of(ada)]
    assert "just now" in (await square.call(ada)).text
    for _ in range(3):
        assert await square.mark(ada) == "connected"
        await square.asked_again(6.5 * MINUTE)

    async def broken() -> bool:
        return await square.mark(ada) == "broken"

    await within(5, broken)
    assert "Connect it again at" in (await square.call(ada, 1)).text
    assert (await square.standing(ada))["state"] == "needs_reconnect"
    square.shop.tokens[square.key_of(ada)] = "acme"
    await square.asked_again(80 * MINUTE)

    async def works() -> bool:
        return not (await square.call(ada)).failed

    await within(5, works)
    assert await square.mark(ada) == "connected"


async def test_a_write_that_is_held_back_was_not_made(square: Square) -> None:
    """So it may be tried again, and its text says when."""
    ada = await square.person("acme")
    del square.shop.tokens[square.key_of(ada)]
    first, second = await square.call(ada, 0, "buy"), await square.call(ada, 0, "buy")
    for answer in (first, second):
        assert "whether the change was made" not in answer.text
        assert "try again in" in answer.text
