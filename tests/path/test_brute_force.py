"""Whoever tries credentials by the thousand (threat-model.md §2, rows 33 and 43)."""

import time
from collections import Counter
from typing import Any

import pytest

from core.db import Database
from core.token_format import generate_token
from tests.path.conftest import People
from tests.support.product import Product

TRIES = [1_500, pytest.param(10_000, marks=pytest.mark.long)]
ALLOWED = 30


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the database was asked, by whichever way."""
    counted: Counter[str] = Counter()
    for name in ("lookup", "tenant", "fetch", "call"):
        real = getattr(Database, name)

        def counting(*given: Any, _name: str = name, _real: Any = real, **named: Any) -> Any:
            counted[_name] += 1
            return _real(*given, **named)

        monkeypatch.setattr(Database, name, counting)
    return counted


@pytest.mark.parametrize("tries", TRIES)
async def test_malformed_ones_do_not_reach_the_database(
    product: Product, people: People, opened: Counter[str], tries: int
) -> None:
    """The check digits of an API token tell noise from a guess, and forged check digits from a token for nothing."""
    _, good = generate_token()
    text = good.reveal()
    noise = ["", "x" * 69, text[:-1], text[:-1] + ("0" if text[-1] != "0" else "1"), text.swapcase(), "a.b", text + "x"]
    async with product.gateway(failed_auth_per_minute=ALLOWED) as node:
        assert (await node.post(people.admin.token, "ping")).status == 200
        opened.clear()
        began = time.monotonic()
        statuses = Counter(
            [(await node.post(noise[n % len(noise)], "ping", address="192.0.2.1")).status for n in range(tries)]
        )
        assert set(statuses) == {401, 429}
        seconds = time.monotonic() - began
        come_back = seconds / 60 * ALLOWED
        assert statuses[401] <= ALLOWED + 3 + come_back + tries // len(noise) + 1, "one in seven brings no credential"
        assert opened.pop("fetch", 0) <= 5 + seconds, "the proof that announcements arrive, now and then"
        assert sum(opened.values()) <= 2, f"one event of the audit log for all of them: {opened}"
        assert (await node.post(people.admin.token, "ping", address="192.0.2.1")).status == 200, "who is known goes on"


@pytest.mark.parametrize("tries", TRIES)
async def test_well_formed_ones_from_one_address(
    product: Product, people: People, opened: Counter[str], tries: int
) -> None:
    """Each with another header that pretends to be a proxy's."""
    async with product.gateway(failed_auth_per_minute=ALLOWED) as node:
        assert (await node.post(people.admin.token, "ping")).status == 200
        opened.clear()
        statuses: Counter[int] = Counter()
        began = time.monotonic()
        for n in range(tries):
            headers = {"x-forwarded-for": f"198.51.{n // 250}.{n % 250}", "forwarded": f"for=198.51.100.{n % 250}"}
            answer = await node.post(generate_token()[1].reveal(), "ping", address="192.0.2.1", headers=headers)
            statuses[answer.status] += 1
        assert set(statuses) == {401, 429}
        come_back = (time.monotonic() - began) / 60 * ALLOWED
        assert statuses[401] <= ALLOWED + 2 + come_back
        assert opened["lookup"] == statuses[401]
        assert (await node.post(generate_token()[1].reveal(), "ping", address="192.0.2.2")).status == 401
