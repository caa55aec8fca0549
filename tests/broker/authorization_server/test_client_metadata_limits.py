"""Client ID metadata documents are asked for rarely, kept for a while, and cost a bounded memory."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator

import pytest

from broker.authorization_server.client_metadata import MAX_CACHED_CLIENTS
from broker.authorization_server.client_registry import CLIENT_ADDRESS
from core.errors import LimitReached, Unavailable
from core.http.outbound_addresses import AllowedAddresses
from tests.broker.authorization_server.metadata_site import Site, finding, site_of_documents
from tests.gateway.vendor_session.doubles import answering


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with site_of_documents() as site:
        yield site


async def test_twenty_at_once_ask_once(site: Site) -> None:
    site.serves(site.says())
    found = await asyncio.gather(*(site.metadata.find(site.url) for _ in range(20)))
    assert len({id(one) for one in found}) == 1
    assert site.asked == 1


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ("", 300),
        ("no-store", 300),
        ("max-age=0", 300),
        ("max-age=3600, no-cache", 300),
        ("public, max-age=3600", 3600),
        ('max-age="7200"', 7200),
        ("s-maxage=9, max-age=3600", 3600),
        ("max-age=99999999", 86_400),
        ("max-age=x", 300),
    ],
)
async def test_how_long_a_document_is_kept(site: Site, told: str, seconds: int) -> None:
    site.serves(site.says(more=told))
    await site.metadata.find(site.url)
    site.clock.go(seconds=seconds - 1)
    await site.metadata.find(site.url)
    assert site.asked == 1
    site.clock.go(seconds=1)
    await site.metadata.find(site.url)
    assert site.asked == 2


async def test_no_document_is_remembered_for_a_minute(site: Site) -> None:
    site.serves(answering(404), site.says())
    for _ in range(5):
        assert await site.metadata.find(site.url) is None
    assert site.asked == 1
    site.clock.go(seconds=60)
    assert await site.metadata.find(site.url) is not None


async def test_what_was_good_counts_for_a_day_while_its_server_is_away(site: Site) -> None:
    site.serves(site.says(), answering(500))
    good = await site.metadata.find(site.url)
    for minutes in (6, 10, 60 * 23):
        site.clock.go(minutes=minutes)
        assert await site.metadata.find(site.url) == good
    site.clock.go(hours=1)
    with pytest.raises(Unavailable):
        await site.metadata.find(site.url)


async def test_what_was_good_counts_no_more_when_its_owner_takes_it_back(site: Site) -> None:
    site.serves(site.says(), answering(404))
    assert await site.metadata.find(site.url) is not None
    site.clock.go(minutes=6)
    assert await site.metadata.find(site.url) is None


async def test_a_thousand_different_urls(site: Site) -> None:
    """One host is asked twenty times and no more; what is remembered is bounded; who is known is served and renewed."""
    site.serves(site.says())
    assert await site.metadata.find(site.url) is not None
    site.serves(answering(404))
    outcomes = await asyncio.gather(
        *(site.metadata.find(f"{site.server.url}/{n}.json") for n in range(1000)), return_exceptions=True
    )
    assert sum(isinstance(one, LimitReached) for one in outcomes) > 970
    assert site.asked < 30
    assert await site.metadata.find(site.url) is not None
    site.clock.go(minutes=5)
    asked = site.asked
    for n in range(20):
        with contextlib.suppress(LimitReached):
            await site.metadata.find(f"{site.server.url}/more-{n}.json")
    site.serves(site.says())
    assert await site.metadata.find(site.url) is not None
    assert site.asked - asked == 21


async def test_one_host_after_another_document(site: Site) -> None:
    site.serves(answering(404))
    refused = 0
    for n in range(60):
        try:
            await site.metadata.find(f"{site.server.url}/{n}.json")
        except LimitReached as limit:
            refused += 1
            assert 0 < limit.retry_after <= 6  # noqa: PT017 the limit is what is counted here
    assert (site.asked, refused) == (20, 40)
    site.clock.go(seconds=6)
    assert await site.metadata.find(f"{site.server.url}/61.json") is None
    assert site.asked == 21


async def test_many_hosts_together_are_limited_too(site: Site) -> None:
    asked: list[str] = []

    async def nowhere(host: str, port: int) -> list[tuple[int, str]]:
        asked.append(host)
        return []

    async with finding(AllowedAddresses(), lookup=nowhere) as (_, metadata, _documents):
        outcomes = await asyncio.gather(
            *(metadata.find(f"https://h{n}.example/c.json") for n in range(1000)), return_exceptions=True
        )
        assert sum(one is None for one in outcomes) == len(asked)
    assert 1 <= len(asked) <= 100


async def test_one_address_cannot_use_up_what_all_share(site: Site) -> None:
    """With a host for each document nothing else would hold it."""
    asked: list[str] = []
    serial = itertools.count()

    async def nowhere(host: str, port: int) -> list[tuple[int, str]]:
        asked.append(host)
        return []

    async with finding(AllowedAddresses(), lookup=nowhere) as (clock, metadata, _documents):

        async def refused_to(address: str, number: int) -> int:
            CLIENT_ADDRESS.set(address)
            refused = 0
            for _ in range(number):
                try:
                    await metadata.find(f"https://h{next(serial)}.example/c.json")
                except LimitReached:
                    refused += 1
            return refused

        assert await refused_to("192.0.2.1", 1000) == 980
        assert len(asked) == 20
        assert await refused_to("198.51.100.1", 5) == 0
        assert await refused_to("2001:db8:0:1::9", 20) == 0
        assert await refused_to("2001:db8:0:1:9::9", 20) == 20, "one network"
        clock.go(seconds=6)
        assert await refused_to("192.0.2.1", 1000) == 999


@pytest.mark.parametrize("spelling", ["{}", "{}.", "{}:443", "{}.:443"])
async def test_a_host_is_one_host_in_every_spelling(spelling: str) -> None:
    async def nowhere(host: str, port: int) -> list[tuple[int, str]]:
        return []

    async with finding(AllowedAddresses(), lookup=nowhere) as (_, metadata, _documents):
        for n in range(20):
            assert await metadata.find(f"https://app.example.com/{n}.json") is None
        with pytest.raises(LimitReached):
            await metadata.find(f"https://{spelling.format('app.example.com')}/more.json")


async def test_memory_is_bounded(site: Site) -> None:
    async def nowhere(host: str, port: int) -> list[tuple[int, str]]:
        return []

    async with finding(AllowedAddresses(), lookup=nowhere) as (clock, metadata, _documents):
        for n in range(MAX_CACHED_CLIENTS + 200):
            clock.go(seconds=0.01 if n < MAX_CACHED_CLIENTS else 0)
            with contextlib.suppress(LimitReached):
                await metadata.find(f"https://h{n}.example/c.json")
            clock.go(seconds=1)
        sizes = [len(metadata._good), len(metadata._bad), len(metadata._locks)]  # pyright: ignore[reportPrivateUsage]
    assert sizes == [0, MAX_CACHED_CLIENTS, 0]


async def test_of_good_documents_the_last_are_kept(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker.authorization_server.client_metadata.MAX_CACHED_CLIENTS", 3)
    for n in range(5):
        url = f"{site.server.url}/{n}.json"
        site.serves(site.says(url=url))
        assert await site.metadata.find(url) is not None
    assert len(site.metadata._good) == 3  # pyright: ignore[reportPrivateUsage]
    site.serves(answering(404))
    assert await site.metadata.find(f"{site.server.url}/4.json") is not None
    assert await site.metadata.find(f"{site.server.url}/0.json") is None
