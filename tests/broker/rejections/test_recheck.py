"""Credentials that a vendor has refused, asked about again: what comes back, what becomes broken, and when."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest

from broker.interface import Lease, NoCredential
from broker.lease_service import LeaseService
from broker.rejections.recheck import RecheckDependencies, Rechecker
from broker.rejections.rejected_credentials import RejectedCredential
from broker.rejections.report import RejectionTiming
from broker.rejections.verdicts import CredentialVerdict, ProbeResult
from core.directory.services import set_settings
from core.http.credential_headers import CredentialScheme
from core.secret import Secret
from tests.broker.broker_harness import ACTOR, BASE_URLS, TOOL_HINTS, BrokerHarness, FreshAccounts, Person
from tests.support.directory import set_status

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
OWN_API = "https://api.github.com"
"""The API of one of MCPist's own providers: whose answers there are counted for all tenants."""


@dataclass
class RecheckApp:
    """A world, a vendor that is played by hand, and the clock of the database. `refused` are the secrets that the
    vendor does not take; `verdicts` are what it says instead, in turn."""

    app: BrokerHarness
    base_urls: Mapping[str, str] = field(default_factory=lambda: BASE_URLS)
    shift: float = 0.0
    chance: float = 0.5
    refused: set[str] = field(default_factory=set)
    verdicts: list[ProbeResult] = field(default_factory=list)
    asked: list[tuple[float, str]] = field(default_factory=list)
    suspects: list[RejectedCredential] = field(default_factory=list)

    def rechecker(self) -> Rechecker:
        """One broker process's."""
        parts = RecheckDependencies(self.app.trusted, self.app.vault, self.ask, self.base_urls, RejectionTiming())
        return Rechecker(parts, chance=lambda: self.chance)

    async def ask(self, suspect: RejectedCredential, settings: Mapping[str, Any]) -> ProbeResult:
        self.suspects.append(suspect)
        self.asked.append((self.shift, suspect.secret.reveal()))
        await asyncio.sleep(0)
        if self.verdicts:
            return self.verdicts.pop(0)
        return ProbeResult(
            CredentialVerdict.REJECTED if suspect.secret.reveal() in self.refused else CredentialVerdict.ACCEPTED
        )

    async def later(self, seconds: float) -> None:
        self.shift += seconds
        await self.app.execute(
            "CREATE OR REPLACE FUNCTION vault.clock() RETURNS timestamptz LANGUAGE sql VOLATILE "
            f"RETURN clock_timestamp() + interval '{self.shift} seconds'"
        )

    async def pass_time(self, seconds: float, *, step: float = MINUTE) -> None:
        """Let time pass with one process that asks."""
        rechecker, until = self.rechecker(), self.shift + seconds
        while self.shift < until:
            await self.later(min(step, until - self.shift))
            await rechecker.sweep()

    async def person(self, slug: str, name: str = "ada") -> Person:
        """Somebody with a key of their own, which they use."""
        app = self.app
        rows = await self.rows("SELECT tenant_id AS id FROM core.tenants WHERE slug = $1", slug)
        if rows:
            tenant = rows[0]["id"]
        else:
            tenant = await app.tenant(slug)
            await app.role(tenant, "all", allow=["*"])
        person = await app.person(tenant, f"{name}@{slug}.test", "all")
        await app.put(tenant, person.own, self.key_of(person), account=name)
        await self.leased(person)
        return person

    def key_of(self, person: Person) -> str:
        return f"key-of-{person.email}"

    async def leased(self, person: Person) -> Lease:
        answer = await self.app.leases.lease(person.asks())
        assert isinstance(answer, Lease), answer
        return answer

    async def refuse(self, person: Person) -> None:
        """The vendor refuses a call of theirs, and the gateway tells."""
        self.refused.add(self.key_of(person))
        lease = await self.leased(person)
        assert isinstance(await self.app.leases.lease(person.asks(rejected=lease.version)), NoCredential)

    async def cause(self, person: Person) -> str:
        """Why there is no lease; "" where there is one."""
        answer = await self.app.leases.lease(person.asks())
        return answer.cause if isinstance(answer, NoCredential) else ""

    async def rows(self, sql: str, *args: object) -> list[dict[str, Any]]:
        async with self.app.database.admin_connection() as admin:
            return [dict(row) for row in await admin.fetch(sql, *args)]

    async def notices(self) -> int:
        return (await self.rows("SELECT count(*) FROM vault.notices"))[0]["count"]


@pytest.fixture
def app(app: BrokerHarness) -> RecheckApp:
    return RecheckApp(app)


async def test_one_that_the_vendor_takes_again_goes_on_as_if_nothing_had_been(app: RecheckApp) -> None:
    ada, eve = await app.person("acme"), await app.person("evil")
    await app.refuse(ada)
    assert await app.cause(ada) == "in_doubt"
    await app.later(30)
    assert await app.rechecker().sweep() == 0, "a pause comes first"
    app.refused.clear()
    await app.later(60)
    assert await app.rechecker().sweep() == 1
    assert await app.leased(ada)
    assert app.asked == [(90.0, "key-of-ada@acme.test")]
    await app.pass_time(2 * HOUR, step=5 * MINUTE)
    assert (len(app.asked), await app.notices()) == (1, 0)
    assert await app.cause(eve) == ""


@pytest.mark.guarantee("G5")
@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
async def test_who_revoked_a_key_is_told_within_half_an_hour(app: RecheckApp, chance: float) -> None:
    """A notice takes five minutes more, and half a minute until it is sent."""
    app.chance = chance
    ada, eve = await app.person("acme"), await app.person("evil")
    await app.refuse(ada)
    while await app.cause(ada) == "in_doubt":
        await app.pass_time(15, step=15)
        assert app.shift <= 24 * MINUTE
    assert app.shift > 16 * MINUTE, "a quarter of an hour of the vendor's is nobody's fault"
    assert await app.cause(ada) == "rejected"
    assert 3 <= len(app.asked) <= 8, "a vendor may count failed attempts"
    (event,) = await app.app.events(ada.tenant_id, "credential.broken")
    assert event.detail is not None
    assert event.detail["cause"] == "rejected"
    assert await app.notices() == 1
    assert (await app.cause(eve), await app.app.events(eve.tenant_id, "credential.broken")) == ("", [])


async def test_what_was_found_broken_comes_back_by_itself(app: RecheckApp) -> None:
    ada = await app.person("acme")
    await app.refuse(ada)
    await app.pass_time(30 * MINUTE)
    assert await app.cause(ada) == "rejected"
    app.refused.clear()
    await app.pass_time(90 * MINUTE, step=5 * MINUTE)
    assert await app.leased(ada)
    (event,) = await app.app.events(ada.tenant_id, "credential.recovered")
    assert event.detail is not None
    assert event.detail["module"] == "github"
    assert (await app.rows("SELECT state, cause FROM vault.credentials"))[0] == {"state": "ok", "cause": ""}


async def test_what_stays_refused_is_asked_about_for_two_days_and_then_left_alone(app: RecheckApp) -> None:
    ada = await app.person("acme")
    await app.refuse(ada)
    await app.pass_time(3 * DAY, step=20 * MINUTE)
    assert 30 < len(app.asked) < 70
    assert await app.rows("SELECT id FROM vault.credentials WHERE recheck_at IS NOT NULL") == []
    await app.app.put(ada.tenant_id, ada.own, "a new one")
    assert await app.leased(ada)


@pytest.mark.guarantee("G5")
async def test_a_quarter_of_an_hour_at_a_vendor_costs_nobody_a_key(app: RecheckApp) -> None:
    """Of a tenant that is too small for any rule of numbers, too."""
    people = [await app.person(slug) for slug in ("acme", "evil", "third")]
    for person in people:
        await app.refuse(person)
    await app.pass_time(15 * MINUTE)
    assert {await app.cause(person) for person in people} == {"in_doubt"}
    app.refused.clear()
    await app.pass_time(7 * MINUTE)
    assert [await app.cause(person) for person in people] == [""] * 3
    assert await app.notices() == 0


async def test_a_vendor_that_refuses_very_many_blames_nobody_for_a_day(
    app: RecheckApp, caplog: pytest.LogCaptureFixture
) -> None:
    people = [await app.person("acme", f"p{number}") for number in range(8)]
    alone = await app.person("evil")
    for person in (*people[:6], alone):
        await app.refuse(person)
    await app.pass_time(5 * HOUR, step=5 * MINUTE)
    assert {await app.cause(person) for person in people[:6]} == {"in_doubt"}
    told = [record for record in caplog.records if record.__dict__.get("event") == "vendor_mass_rejection"]
    assert len(told) == 1
    assert await app.cause(alone) == "rejected", "what a tenant's own server says concerns nobody else"
    await app.pass_time(20 * HOUR, step=20 * MINUTE)
    assert {await app.cause(person) for person in people[:6]} == {"rejected"}, "after a day it is true"
    app.refused.clear()
    await app.pass_time(2 * HOUR, step=5 * MINUTE)
    assert {await app.cause(person) for person in (*people, alone)} == {""}


async def test_few_of_many_are_their_own_affair(app: RecheckApp) -> None:
    """A fifth and less of what is used: that is what revoking looks like."""
    people = [await app.person("acme", f"p{number}") for number in range(26)]
    for person in people[:5]:
        await app.refuse(person)
    for _ in range(15):
        await app.pass_time(2 * MINUTE, step=2 * MINUTE)
        for person in people[5:]:
            await app.leased(person)
    assert {await app.cause(person) for person in people[:5]} == {"rejected"}
    assert {await app.cause(person) for person in people[5:]} == {""}


@pytest.fixture
def at_github(app: RecheckApp) -> RecheckApp:
    """The module's address is that of one of MCPist's own providers."""
    broker, app.base_urls = app.app, {**BASE_URLS, "github": OWN_API}
    parts = broker.tokens, broker.trusted, broker.vault, TOOL_HINTS
    broker.leases = LeaseService(
        *parts,
        base_urls=app.base_urls,
        clock=broker.clock,
        accounts=FreshAccounts(),
        mandates=broker.mandate_service,
    )
    return app


async def test_at_a_vendor_of_everybody_tenants_are_counted_together(at_github: RecheckApp) -> None:
    app = at_github
    people = [await app.person(f"tenant-{number}") for number in range(6)]
    for person in people:
        await app.refuse(person)
    await app.pass_time(40 * MINUTE)
    assert {await app.cause(person) for person in people} == {"in_doubt"}
    assert {suspect.endpoint for suspect in app.suspects} == {OWN_API}


async def test_one_tenant_speaks_for_no_other(at_github: RecheckApp) -> None:
    """Somebody who has a hundred wrong keys keeps nobody else from hearing of theirs."""
    app = at_github
    many = [await app.person("evil", f"p{number}") for number in range(12)]
    ada, others = await app.person("acme"), [await app.person(f"tenant-{number}") for number in range(4)]
    for person in (*many, ada):
        await app.refuse(person)
    for _ in range(15):
        await app.pass_time(2 * MINUTE, step=2 * MINUTE)
        for person in others:
            await app.leased(person)
    assert await app.cause(ada) == "rejected"
    assert {await app.cause(person) for person in many} == {"in_doubt"}


async def test_however_many_processes_ask_it_is_asked_once(app: RecheckApp) -> None:
    ada = await app.person("acme")
    await app.refuse(ada)
    await app.later(80)
    answered = await asyncio.gather(*(app.rechecker().sweep() for _ in range(6)))
    assert (sum(answered), len(app.asked)) == (1, 1)


async def test_a_process_that_dies_while_it_asks_keeps_nobody_waiting(app: RecheckApp) -> None:
    ada = await app.person("acme")
    await app.refuse(ada)
    await app.later(80)
    asking = asyncio.create_task(app.rechecker().sweep())
    while not app.asked:
        await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    app.refused.clear()
    await app.later(31)
    assert await app.rechecker().sweep() == 1
    assert await app.leased(ada)


async def test_a_vendor_that_cannot_be_asked_keeps_nobody_from_trying(app: RecheckApp) -> None:
    """It may be our question that is at fault; whoever is refused again is held back again."""
    ada = await app.person("acme")
    await app.refuse(ada)
    app.verdicts = [ProbeResult(CredentialVerdict.UNKNOWN)]
    await app.pass_time(80, step=80)
    assert await app.leased(ada)
    await app.refuse(ada)
    assert await app.cause(ada) == "in_doubt"


async def test_a_vendor_that_asks_to_wait_is_left_alone(app: RecheckApp) -> None:
    ada = await app.person("acme")
    await app.refuse(ada)
    app.verdicts = [ProbeResult(CredentialVerdict.BUSY, 900)]
    await app.pass_time(80, step=80)
    assert await app.cause(ada) == "in_doubt"
    await app.pass_time(14 * MINUTE)
    assert len(app.asked) == 1
    app.refused.clear()
    await app.pass_time(2 * MINUTE)
    assert await app.leased(ada)


async def test_what_was_accepted_just_now_is_not_doubted_because_of_one_tool(app: RecheckApp) -> None:
    """Some vendors say 401 where a right is missing: the call is told so, and the key stays in use."""
    ada = await app.person("acme")
    await app.refuse(ada)
    app.refused.clear()
    await app.pass_time(80, step=80)
    lease = await app.leased(ada)
    again = await app.app.leases.lease(ada.asks(rejected=lease.version))
    assert isinstance(again, Lease)
    await app.later(11 * MINUTE)
    assert isinstance(await app.app.leases.lease(ada.asks(rejected=lease.version)), NoCredential)


async def test_two_stray_refusals_a_day_apart_are_none_on_end(app: RecheckApp) -> None:
    ada = await app.person("acme")
    await app.refuse(ada)
    app.verdicts = [ProbeResult(CredentialVerdict.UNKNOWN)] * 1000  # nobody ever finds out
    await app.pass_time(DAY, step=HOUR)
    await app.refuse(ada)
    app.verdicts = []
    await app.pass_time(10 * MINUTE)
    assert await app.cause(ada) == "in_doubt", "it is refused for ten minutes now"


async def test_a_new_key_is_asked_about_by_nobody(app: RecheckApp) -> None:
    ada = await app.person("acme")
    await app.refuse(ada)
    await app.app.put(ada.tenant_id, ada.own, "a new one")
    await app.pass_time(HOUR)
    assert (app.asked, await app.cause(ada)) == ([], "")


async def test_a_key_that_is_replaced_while_the_vendor_is_asked(app: RecheckApp) -> None:
    ada = await app.person("acme")
    await app.refuse(ada)
    ask = app.ask

    async def replaced(suspect: RejectedCredential, settings: Mapping[str, Any]) -> ProbeResult:
        await app.app.put(ada.tenant_id, ada.own, "a new one")
        return await ask(suspect, settings)

    app.ask = replaced  # type: ignore[method-assign]
    await app.pass_time(80, step=80)
    assert (len(app.asked), await app.cause(ada)) == (1, "")
    assert await app.rows("SELECT id FROM vault.credentials WHERE recheck_at IS NOT NULL OR held_back") == []
    assert await app.app.events(ada.tenant_id, "credential.broken") == []


async def test_the_question_goes_where_the_key_is_for_and_as_it_is_sent(app: RecheckApp) -> None:
    ada = await app.person("acme")
    scheme = CredentialScheme("basic_user", fixed="x")
    await app.app.credentials.put(
        ACTOR, ada.tenant_id, "github", ada.own, Secret(app.key_of(ada)), scheme=scheme, origins=["https://own.test"]
    )
    await _at(app, ada.tenant_id, "https://own.test/api")
    await app.refuse(ada)
    await app.pass_time(80, step=80)
    (suspect,) = app.suspects
    assert (suspect.scheme, suspect.origins) == (scheme, ("https://own.test",))
    assert suspect.endpoint == f"{ada.tenant_id} https://own.test"
    assert "key-of" not in repr(suspect)


async def test_a_service_that_was_given_another_address_is_not_asked(app: RecheckApp) -> None:
    ada = await app.person("acme")
    await app.refuse(ada)
    await _at(app, ada.tenant_id, "https://attacker.test")
    await app.pass_time(HOUR)
    assert (app.asked, await app.cause(ada)) == ([], "elsewhere")


async def _at(app: RecheckApp, tenant_id: UUID, url: str) -> None:
    await set_settings(app.app.console, ACTOR, tenant_id, "github", lambda _: {"base_url": url})


async def test_who_is_suspended_is_asked_about_when_they_are_back(app: RecheckApp) -> None:
    ada = await app.person("acme")
    await app.refuse(ada)
    await set_status(app.app.console, ACTOR, ada.tenant_id, ada.email, "suspended")
    await app.pass_time(HOUR)
    assert app.asked == []
    await set_status(app.app.console, ACTOR, ada.tenant_id, ada.email, "active")
    await app.pass_time(MINUTE)
    assert len(app.asked) == 1


async def test_one_that_was_changed_in_the_database_is_sent_nowhere(app: RecheckApp) -> None:
    ada = await app.person("acme")
    await app.refuse(ada)
    await app.app.execute("UPDATE vault.credentials SET secret = set_byte(secret, 40, get_byte(secret, 40) # 1)")
    await app.pass_time(HOUR)
    assert (app.asked, await app.cause(ada)) == ([], "unreadable")


async def test_an_account_without_a_refresh_token(app: RecheckApp) -> None:
    """It is marked like every account, and its mark is taken back."""
    ada = await app.person("acme")
    account = await app.app.connect(ada, "notion", {"site": "c-1"})
    (row,) = await app.rows("SELECT version FROM vault.accounts")
    secret = f"access-of-{ada.id}"
    app.refused.add(secret)
    asks = ada.asks("search", module="notion", rejected=row["version"])
    answer = await app.app.leases.lease(asks)
    assert isinstance(answer, NoCredential)
    await app.pass_time(30 * MINUTE)
    (row,) = await app.rows("SELECT status, reason FROM vault.accounts WHERE id = $1", account)
    assert row == {"status": "needs_reauth", "reason": "revoked"}
    assert {one.attributes["site"] for one in app.suspects} == {"c-1"}
    app.refused.clear()
    await app.pass_time(90 * MINUTE, step=5 * MINUTE)
    (row,) = await app.rows("SELECT status, reason FROM vault.accounts WHERE id = $1", account)
    assert row == {"status": "active", "reason": ""}
    assert len(await app.app.events(ada.tenant_id, "credential.recovered")) == 1


async def test_an_account_that_was_connected_again_is_asked_about_by_nobody(app: RecheckApp) -> None:
    """For another of its modules, say: then this module's credential is not touched."""
    ada = await app.person("acme")
    account = await app.app.connect(ada, "notion", {})
    (row,) = await app.rows("SELECT version FROM vault.accounts")
    asks = ada.asks("search", module="notion", rejected=row["version"])
    assert isinstance(await app.app.leases.lease(asks), NoCredential)
    await app.app.execute("UPDATE vault.accounts SET version = version + 1048576 WHERE id = $1", account)
    assert isinstance(await app.app.leases.lease(ada.asks("search", module="notion")), Lease)
    await app.pass_time(HOUR)
    assert app.asked == []
    (row,) = await app.rows("SELECT status FROM vault.accounts WHERE id = $1", account)
    assert row["status"] == "active"


async def test_thousands_at_one_vendor_keep_no_other_waiting(app: RecheckApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker.rejections.recheck.MAX_PER_ENDPOINT", 3)
    many = [await app.person("evil", f"p{number}") for number in range(6)]
    ada = await app.person("acme")
    for person in (*many, ada):
        await app.refuse(person)
    await app.later(2 * MINUTE)
    await app.rechecker().sweep()
    assert len(app.asked) == 4
    assert app.key_of(ada) in {secret for _, secret in app.asked}
