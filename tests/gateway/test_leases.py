"""Leases in a gateway's memory: one question for all calls that miss the same one."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import pytest

from broker.interface import CredentialRefusal, Lease, LeaseRequest, NoCredential
from core.caller import Caller, Credential
from core.connection_state import ModuleConnection
from core.database_url import DatabaseAddress
from core.errors import Unavailable
from core.generations import Generations
from core.permissions import Policy
from core.secret import Secret
from gateway.catalogue import CatalogueTool, build_catalogue
from gateway.connection_messages import ConnectMessages
from gateway.lease_cache import CachedLease, LeaseCache, ToolLeaseSource
from gateway.mcp.authority import Authority
from gateway.mcp.request_context import RequestContext
from tests.support.toy_vendor import shop_module

CREDENTIAL = Credential("c", "api_token", UUID(int=1), UUID(int=2), frozenset({"mcp:read"}))
CALLER = Caller(CREDENTIAL, "ada@acme.test", "user", Policy((), frozenset()))
OTHER = replace(CALLER, credential=replace(CREDENTIAL, id="o", tenant_id=UUID(int=9)))
CATALOGUE = build_catalogue([shop_module("http://127.0.0.1:1")])
TOOL: CatalogueTool = next(one for one in CATALOGUE.tools["shop"] if one.tool.name == "look")


@dataclass
class SlowBroker:
    """Answers when it is let; `generation` is the tenant's, as the gateway knows it."""

    asked: int = 0
    renewable: bool = True
    expires_in: float = 60.0
    rejected: list[int | None] = field(default_factory=list)
    away: bool = False
    generation: int | None = 1
    dropped: set[int] = field(default_factory=set[int])
    let: asyncio.Event = field(default_factory=asyncio.Event)

    async def verify(self, token: Secret) -> Credential | CredentialRefusal:
        raise NotImplementedError

    async def verify_again(self, tenant_id: UUID, tokens: Sequence[Secret]) -> Sequence[Credential | None]:
        raise NotImplementedError

    async def get_connections(self, subject: Secret) -> Mapping[str, ModuleConnection] | CredentialRefusal:
        raise NotImplementedError

    async def lease(self, request: LeaseRequest) -> Lease | NoCredential | CredentialRefusal:
        self.asked += 1
        self.rejected.append(request.rejected_version)
        version = self.asked
        await self.let.wait()
        if self.away:
            raise Unavailable
        token = Secret("at-00000001-of-the-shop")
        return Lease(token, version, self.expires_in, "personal", UUID(int=3), {}, self.renewable)

    def current(self, _tenant_id: UUID) -> int | None:
        return self.generation

    def is_dropped(self, _tenant_id: UUID, version: int) -> bool:
        return version in self.dropped

    def confirm_version(self, tenant_id: UUID, version: int, asked_at: float) -> None:
        pass


def asking(caller: Caller = CALLER) -> RequestContext:
    deadline = asyncio.get_running_loop().time() + 0.01
    return RequestContext(Authority(caller), "r", deadline, find_subject=lambda: Secret("mcpist_made-up"))


def call(leases: LeaseCache) -> "asyncio.Task[CachedLease]":
    return asyncio.create_task(leases.get_lease(asking(), TOOL))


async def started(broker: SlowBroker, calls: int) -> tuple[LeaseCache, list["asyncio.Task[CachedLease]"]]:
    generations: Any = broker
    leases = LeaseCache(broker, generations, ConnectMessages("http://mcpist.test"))
    tasks = [call(leases) for _ in range(calls)]
    while not broker.asked:
        await asyncio.sleep(0)
    return leases, tasks


async def test_calls_that_miss_the_same_lease_ask_once_even_if_the_first_goes_away() -> None:
    broker = SlowBroker()
    _, (first, *others) = await started(broker, 20)
    first.cancel()
    await asyncio.sleep(0)
    broker.let.set()
    assert {held.version for held in await asyncio.gather(*others)} == {1}
    assert broker.asked == 1


async def test_who_comes_after_a_change_gets_no_lease_of_before() -> None:
    broker = SlowBroker()
    leases, (before,) = await started(broker, 1)
    broker.generation = 2
    after = call(leases)
    await asyncio.sleep(0)
    broker.let.set()
    assert (await before).version == 1
    assert (await after).version == 2


async def test_a_version_that_the_vendor_has_ended_is_asked_for_anew() -> None:
    broker = SlowBroker()
    leases, (before,) = await started(broker, 1)
    broker.dropped.add(1)  # before the answer is here, and so before the lease is kept
    broker.let.set()
    assert (await before).version == 1
    assert (await call(leases)).version == 2
    assert (await call(leases)).version == 2


async def test_nothing_is_kept_while_changes_do_not_arrive() -> None:
    broker = SlowBroker(generation=None)
    broker.let.set()
    leases, (one,) = await started(broker, 1)
    await one
    await call(leases)
    assert broker.asked == 2


@pytest.mark.parametrize(
    ("expires_in", "kept"),
    [(5.0, 5.0), (0.0, 0.0), (60.0, 60.0), (3600.0, 60.0)],
)
async def test_a_lease_is_kept_no_longer_than_it_lasts_and_for_a_minute_at_most(expires_in: float, kept: float) -> None:
    broker, now = SlowBroker(expires_in=expires_in), 1000.0
    broker.let.set()
    generations: Any = broker
    leases = LeaseCache(broker, generations, ConnectMessages("http://mcpist.test"), clock=lambda: now)
    assert (await leases.get_lease(asking(), TOOL)).version == 1
    now = 1000.0 + kept - 0.25
    if kept:
        assert (await leases.get_lease(asking(), TOOL)).version == 1
    now = 1000.0 + kept
    assert (await leases.get_lease(asking(), TOOL)).version == 2
    assert (await leases.get_lease(asking(OTHER), TOOL)).version == 3, (
        "the caller of another tenant has a lease of its own"
    )


async def test_a_refused_lease_is_told_once_for_all_calls_and_what_is_newer_is_used() -> None:
    broker = SlowBroker()
    broker.let.set()
    leases, (one,) = await started(broker, 1)
    refused = await one
    broker.let.clear()
    told = [asyncio.create_task(leases.replace_lease(asking(), TOOL, refused, report=True)) for _ in range(20)]
    while broker.asked < 2:
        await asyncio.sleep(0)
    told[0].cancel()
    broker.let.set()
    assert {held.version for held in await asyncio.gather(*told[1:])} == {2}
    late = await leases.replace_lease(asking(), TOOL, refused, report=True)
    assert late.version == 2, "who was refused with the old one uses what another has got"
    assert broker.rejected == [None, refused.version]


@pytest.mark.parametrize("renewable", [True, False])
async def test_when_a_refusal_is_told(renewable: bool) -> None:
    """At once where another token can be had; of a key, when the vendor has refused it a second time."""
    broker = SlowBroker(renewable=renewable)
    broker.let.set()
    leases, (one,) = await started(broker, 1)
    source = ToolLeaseSource(leases, asking(), TOOL, await one)
    versions = [(await source.lease(rejected)).version for rejected in (None, 1, 2)]
    assert versions == [1, 2, 3]
    assert broker.rejected == ([None, 1, 2] if renewable else [None, None, 2])


async def test_a_broker_that_is_away_fails_all_who_wait_and_is_asked_anew() -> None:
    broker = SlowBroker(away=True)
    leases, tasks = await started(broker, 3)
    broker.let.set()
    for task in tasks:
        with pytest.raises(Unavailable):
            await task
    broker.away = False
    assert (await call(leases)).version > 1


async def test_an_end_that_was_made_up_costs_one_question() -> None:
    """Any login of the database can announce that a version has ended; the broker knows whether it has."""
    database: Any = None
    generations = Generations(DatabaseAddress(Secret("")), database)
    announced = f"{CALLER.tenant_id} 1"
    asked_before = time.monotonic()
    generations._on_version_dropped(None, 0, "", announced)
    assert generations.is_dropped(CALLER.tenant_id, 1)
    generations.confirm_version(CALLER.tenant_id, 1, asked_before)
    assert generations.is_dropped(CALLER.tenant_id, 1)  # the broker may have answered before the end
    generations.confirm_version(CALLER.tenant_id, 1, time.monotonic())
    assert not generations.is_dropped(CALLER.tenant_id, 1)
