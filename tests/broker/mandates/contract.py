"""What every form of the broker promises about mandates. A test module takes these tests over and gives `hands`::

from tests.broker.mandates.contract import *  # noqa: F403
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from broker.interface import (
    Broker,
    CredentialRefusal,
    Lease,
    LeaseRequest,
    Mandate,
    MandatePurpose,
    MandateReference,
    MandateRequest,
    NoCredential,
    NoTenantKey,
    RefusalReason,
    TenantKeyLease,
)
from broker.mandates.mandate_service import MAX_TOOLS
from broker.mandates.mandates import CONSENT_TIME
from core.caller import Credential
from core.directory.deletion import remove_tenant
from core.directory.services import set_service
from core.directory.tenants import set_status as set_tenant_status
from core.directory.users import remove_user
from core.secret import Secret
from core.token_format import generate_token
from tests.broker.broker_harness import ACTOR, READ, WRITE, BrokerHarness, Person
from tests.broker.contract import an_ada
from tests.support.directory import grant, set_status

READING, WRITING, SEARCHING, NOTING = ("github", READ), ("github", WRITE), ("notion", "search"), ("notes", "write")
HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Hands:
    """The broker as a gateway and as a worker reach it."""

    gateway: Broker
    worker: Broker

    async def ask(
        self,
        person: Person,
        *tools: tuple[str, str],
        purpose: MandatePurpose = MandatePurpose.JOB,
        purpose_id: UUID | None = None,
        lifetime: timedelta = HOUR,
    ) -> Mandate | CredentialRefusal:
        """Ask for a mandate in a person's presence."""
        until = datetime.now(UTC) + lifetime
        wanted = MandateRequest(person.token, purpose, purpose_id or uuid4(), "Count stars", tools or (READING,), until)
        return await self.gateway.create_mandate(wanted)

    async def make(self, person: Person, *tools: tuple[str, str], **options: Any) -> MandateReference:
        """A mandate, where there must be one."""
        made = await self.ask(person, *tools, **options)
        assert isinstance(made, Mandate), made
        return made.reference

    async def lease(self, reference: MandateReference, tool: tuple[str, str] = READING) -> Any:
        """What a worker gets for a tool."""
        return await self.worker.lease(LeaseRequest(reference, *tool))

    async def leased(self, reference: MandateReference, tool: tuple[str, str] = READING) -> Lease:
        """A lease, where there must be one."""
        answer = await self.lease(reference, tool)
        assert isinstance(answer, Lease), answer
        return answer

    async def refused(self, reference: MandateReference, tool: tuple[str, str] = READING) -> RefusalReason:
        """Why a worker gets neither a lease nor whom the mandate speaks for."""
        lease, verdict = await self.lease(reference, tool), await self.worker.verify_mandate(reference)
        assert isinstance(lease, CredentialRefusal), lease
        assert isinstance(verdict, CredentialRefusal), verdict
        assert verdict.reason is lease.reason
        return verdict.reason


async def events(app: BrokerHarness, tenant_id: UUID, kind: str) -> list[Mapping[str, Any]]:
    """The details of a tenant's events of one kind."""
    return [event.detail or {} for event in await app.events(tenant_id, f"mandate.{kind}")]


# What a mandate is ------------------------------------------------------------------------------------------------


async def test_a_worker_acts_for_who_is_away(app: BrokerHarness, hands: Hands) -> None:
    ada = await an_ada(app)
    made = await hands.ask(ada, READING, SEARCHING)
    assert isinstance(made, Mandate)
    assert (made.tenant_id, made.user_id, made.needs_consent) == (ada.tenant_id, ada.id, False)
    who = await hands.worker.verify_mandate(made.reference)
    assert isinstance(who, Credential)
    assert (who.id, who.kind, who.tenant_id, who.user_id) == (f"mandate:{made.id}", "mandate", ada.tenant_id, ada.id)
    assert (who.scopes, who.read_only, who.expires_at) == ({"mcp:read", "mcp:write"}, False, made.expires_at)
    assert who.generation == await app.generation(ada.tenant_id)
    assert (await hands.leased(made.reference)).access_token == Secret("own-of-ada-acme")
    assert await hands.lease(made.reference, SEARCHING) == NoCredential("notion", "missing")


@pytest.mark.guarantee("G10")
async def test_a_worker_gets_the_keys_of_the_tenant_while_the_mandate_counts(app: BrokerHarness, hands: Hands) -> None:
    ada, eve = await an_ada(app), await an_ada(app, "globex")
    for person in (ada, eve):
        await app.tenant_keys.put(ACTOR, person.tenant_id, "voyage", Secret(f"pa-{person.tenant_id}"))
    of_ada, of_eve = await hands.make(ada), await hands.make(eve)
    for reference, person in ((of_ada, ada), (of_eve, eve)):
        found = await hands.worker.lease_tenant_key(reference, "voyage")
        assert isinstance(found, TenantKeyLease)
        assert found.key == Secret(f"pa-{person.tenant_id}")
    assert await hands.worker.lease_tenant_key(of_ada, "openai") == NoTenantKey("missing")
    of_nobody = dataclasses.replace(of_ada, purpose_id=uuid4())
    await hands.gateway.end_mandate(of_eve)
    for reference, reason in ((of_nobody, RefusalReason.UNKNOWN), (of_eve, RefusalReason.REVOKED)):
        refused = await hands.worker.lease_tenant_key(reference, "voyage")
        assert isinstance(refused, CredentialRefusal)
        assert refused.reason is reason


@pytest.mark.guarantee("G10")
async def test_no_more_than_its_tools(app: BrokerHarness, hands: Hands) -> None:
    ada = await an_ada(app)
    reference = await hands.make(ada, READING, NOTING)
    for tool in (WRITING, SEARCHING, ("github", "made_up"), NOTING):
        answer = await hands.lease(reference, tool)
        assert isinstance(answer, CredentialRefusal)
        assert answer.reason is RefusalReason.FORBIDDEN
    denied = await app.events(ada.tenant_id, "call.denied")
    assert {(event.credential_id, event.user_id) for event in denied} == {(f"mandate:{reference.mandate_id}", ada.id)}
    assert len(denied) == 4
    await hands.leased(reference)


@pytest.mark.parametrize("token", [{"read_only": True}, {"scopes": ["mcp:read"]}])
async def test_no_more_than_the_credential_that_made_it(
    app: BrokerHarness, hands: Hands, token: dict[str, Any]
) -> None:
    ada = await an_ada(app, **token)
    assert await hands.ask(ada, READING, WRITING) == CredentialRefusal(
        RefusalReason.FORBIDDEN, ada.tenant_id, ada.id, ada.token_id
    )
    who = await hands.worker.verify_mandate(await hands.make(ada, READING))
    assert isinstance(who, Credential)
    assert (who.read_only, who.scopes) == (bool(token.get("read_only")), set(token.get("scopes", who.scopes)))


@pytest.mark.guarantee("G10")
async def test_tools_that_the_caller_may_not_use_make_none(app: BrokerHarness, hands: Hands) -> None:
    ada = await an_ada(app)
    await app.role(ada.tenant_id, "reading", allow=["github:read"])
    bob = await app.person(ada.tenant_id, "bob@example.test", "reading")
    many = [("github", f"t{n}") for n in range(MAX_TOOLS + 1)]
    for tools in ([READING, WRITING], [SEARCHING], [("github", "made_up")], [("made_up", READ)], many):
        answer = await hands.ask(bob, *tools)
        assert isinstance(answer, CredentialRefusal), tools
        assert answer.reason is RefusalReason.FORBIDDEN
    assert not await app.mandates.list_page(ada.tenant_id, None, None, 10)


async def test_what_is_no_credential_makes_none(app: BrokerHarness, hands: Hands) -> None:
    ada = await an_ada(app)
    await app.tokens.revoke(ACTOR, ada.tenant_id, ada.token_id)
    answer = await hands.ask(ada)
    assert isinstance(answer, CredentialRefusal)
    assert answer.reason is RefusalReason.REVOKED
    _, made_up = generate_token()
    stranger = dataclasses.replace(ada, token=made_up)
    assert await hands.ask(stranger) == CredentialRefusal(RefusalReason.UNKNOWN)


@pytest.mark.guarantee("G10")
async def test_made_up_references_get_nothing(app: BrokerHarness, hands: Hands) -> None:
    """All ids but the right pair: that of another purpose, of the person, of the credential."""
    ada = await an_ada(app)
    real = await hands.make(ada)
    other = await hands.make(ada)
    for mandate_id, purpose_id in (
        (real.mandate_id, uuid4()),
        (real.mandate_id, other.purpose_id),
        (real.purpose_id, real.mandate_id),
        (uuid4(), real.purpose_id),
        (ada.id, ada.tenant_id),
        (UUID(int=0), UUID(int=0)),
    ):
        made_up = MandateReference(mandate_id, purpose_id)
        assert await hands.refused(made_up) is RefusalReason.UNKNOWN
        await hands.gateway.end_mandate(made_up)
        await hands.gateway.end_mandate(made_up)
    await hands.leased(real)


async def test_the_same_request_again_is_the_same_mandate(app: BrokerHarness, hands: Hands) -> None:
    """A gateway that got no answer asks again."""
    ada, purpose_id = await an_ada(app), uuid4()
    await app.role(ada.tenant_id, "some", allow=["github.*"])
    bob = await app.person(ada.tenant_id, "bob@example.test", "some")
    reference = await hands.make(ada, READING, WRITING, purpose_id=purpose_id)
    assert await hands.make(ada, WRITING, READING, WRITING, purpose_id=purpose_id) == reference
    for person, tools in ((ada, [READING]), (bob, [READING, WRITING])):
        answer = await hands.ask(person, *tools, purpose_id=purpose_id)
        assert isinstance(answer, CredentialRefusal)
        assert answer.reason is RefusalReason.FORBIDDEN
    assert len(await events(app, ada.tenant_id, "created")) == 1


@pytest.mark.guarantee("G9")
async def test_two_tenants_with_the_same_names(app: BrokerHarness, hands: Hands) -> None:
    """And the same id of the work, which one of them has chosen."""
    ada, eve = await an_ada(app, "acme"), await an_ada(app, "evil")
    purpose_id = uuid4()
    of_ada = await hands.make(ada, purpose_id=purpose_id)
    of_eve = await hands.make(eve, purpose_id=purpose_id)
    assert (await hands.leased(of_ada)).access_token == Secret("own-of-ada-acme")
    assert (await hands.leased(of_eve)).access_token == Secret("own-of-ada-evil")
    await hands.gateway.end_mandate(of_eve)
    assert await hands.refused(of_eve) is RefusalReason.REVOKED
    await hands.leased(of_ada)
    assert [entry.id for entry in await app.mandates.list_page(ada.tenant_id, None, None, 10)] == [of_ada.mandate_id]
    assert not await app.mandates.list_page(eve.tenant_id, None, None, 10)


async def test_nobody_has_more_than_the_limit(
    app: BrokerHarness, hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.mandates.mandate_service.MAX_LIVE", 2)
    ada = await an_ada(app)
    bob = await app.person(ada.tenant_id, "bob@example.test", "all")
    first, _ = await hands.make(ada), await hands.make(ada)
    answer = await hands.ask(ada)
    assert isinstance(answer, CredentialRefusal)
    assert answer.reason is RefusalReason.TOO_MANY
    await hands.make(bob)
    await hands.gateway.end_mandate(first)
    await hands.make(ada)


# Its end ----------------------------------------------------------------------------------------------------------


@pytest.mark.guarantee("G10")
async def test_it_ends_with_the_work(app: BrokerHarness, hands: Hands) -> None:
    ada = await an_ada(app)
    generation = await app.generation(ada.tenant_id)
    by_worker, by_gateway = await hands.make(ada), await hands.make(ada)
    await hands.leased(by_worker)
    await hands.gateway.end_mandate(by_worker)
    await hands.gateway.end_mandate(by_gateway)
    for reference in (by_worker, by_gateway):
        assert await hands.refused(reference) is RefusalReason.REVOKED
        await hands.gateway.end_mandate(reference)
    ended = await events(app, ada.tenant_id, "ended")
    assert [(one["mandate"], one["cause"]) for one in ended] == [
        (str(by_worker.mandate_id), "completed"),
        (str(by_gateway.mandate_id), "completed"),
    ]
    assert await app.generation(ada.tenant_id) == generation, "thousands of jobs would void all caches"


async def test_that_of_a_job_that_was_never_made_ends(app: BrokerHarness, hands: Hands) -> None:
    """Its gateway was killed between the two, or the answer of the queue was lost. A schedule's is no job's."""
    ada = await an_ada(app)
    orphan, schedule = await hands.make(ada), await hands.make(ada, purpose=MandatePurpose.SCHEDULE)
    app.clock.ahead = timedelta(minutes=9)
    assert await app.mandates.sweep() == 0
    app.clock.ahead = timedelta(minutes=11)
    assert await app.mandates.sweep() == 1
    assert await hands.refused(orphan) is RefusalReason.EXPIRED
    assert await hands.refused(schedule) is RefusalReason.NO_CONSENT


async def test_it_ends_in_time(app: BrokerHarness, hands: Hands) -> None:
    ada = await an_ada(app)
    reference = await hands.make(ada)
    app.clock.ahead = HOUR
    assert await hands.refused(reference) is RefusalReason.EXPIRED
    assert await app.mandates.sweep() == 1
    assert await hands.refused(reference) is RefusalReason.EXPIRED
    assert [one["cause"] for one in await events(app, ada.tenant_id, "ended")] == ["expired"]
    answer = await hands.ask(ada, lifetime=timedelta())
    assert isinstance(answer, CredentialRefusal)
    assert answer.reason is RefusalReason.EXPIRED


@pytest.mark.parametrize(("purpose", "days"), [("job", 7), ("schedule", 366), ("sync", 366)])
async def test_none_lasts_for_ever(app: BrokerHarness, hands: Hands, purpose: str, days: int) -> None:
    ada = await an_ada(app)
    made = await hands.ask(ada, purpose=MandatePurpose(purpose), lifetime=timedelta(days=9_999))
    assert isinstance(made, Mandate)
    assert abs(made.expires_at - datetime.now(UTC) - timedelta(days=days)) < HOUR


@pytest.mark.guarantee("G10")
async def test_the_person_revokes_it(app: BrokerHarness, hands: Hands) -> None:
    ada = await an_ada(app)
    reference = await hands.make(ada)
    generation = await app.generation(ada.tenant_id)
    await app.mandates.revoke(ACTOR, ada.tenant_id, reference.mandate_id, user_id=ada.id)
    assert await hands.refused(reference) is RefusalReason.REVOKED
    assert await app.generation(ada.tenant_id) > generation, "cached leases are void"
    assert [one["user"] for one in await events(app, ada.tenant_id, "revoked")] == [str(ada.id)]


@pytest.mark.guarantee("G10")
async def test_a_lost_permission_ends_it(app: BrokerHarness, hands: Hands) -> None:
    """Also when it comes back: what works in one's absence is asked for again."""
    ada = await an_ada(app)
    await app.role(ada.tenant_id, "some", allow=["github.*", "notes.write"])
    bob = await app.person(ada.tenant_id, "bob@example.test", "some")
    await app.put(ada.tenant_id, bob.own, "own-of-bob")
    by_lease, by_verifying = await hands.make(bob, READING), await hands.make(bob, READING, NOTING)
    await grant(app.console, ACTOR, ada.tenant_id, "some", "deny", f"github.{READ}")
    answer = await hands.lease(by_lease)
    assert isinstance(answer, CredentialRefusal)
    assert answer.reason is RefusalReason.FORBIDDEN
    verdict = await hands.worker.verify_mandate(by_verifying)
    assert isinstance(verdict, CredentialRefusal)
    assert verdict.reason is RefusalReason.FORBIDDEN
    await app.execute("DELETE FROM core.permissions WHERE effect = 'deny'")
    for reference in (by_lease, by_verifying):
        assert await hands.refused(reference) is RefusalReason.REVOKED
    assert {one["cause"] for one in await events(app, ada.tenant_id, "ended")} == {"permission_lost"}


async def test_a_service_that_is_switched_off_ends_it(app: BrokerHarness, hands: Hands) -> None:
    ada = await an_ada(app)
    reference = await hands.make(ada)
    await set_service(app.console, ACTOR, ada.tenant_id, "github", enabled=False)
    verdict = await hands.worker.verify_mandate(reference)
    assert isinstance(verdict, CredentialRefusal)
    assert verdict.reason is RefusalReason.FORBIDDEN


@pytest.mark.guarantee("G10")
async def test_a_suspension_ends_it_for_good(app: BrokerHarness, hands: Hands) -> None:
    ada = await an_ada(app)
    bob = await app.person(ada.tenant_id, "bob@example.test", "all")
    await app.put(ada.tenant_id, bob.own, "own-of-bob")
    reference, of_bob = await hands.make(ada), await hands.make(bob)
    await set_status(app.console, ACTOR, ada.tenant_id, ada.email, "suspended")
    assert await hands.refused(reference) is RefusalReason.USER_SUSPENDED
    await set_status(app.console, ACTOR, ada.tenant_id, ada.email, "active")
    assert await hands.refused(reference) is RefusalReason.REVOKED
    assert await app.mandates.sweep() == 1
    assert [one["cause"] for one in await events(app, ada.tenant_id, "ended")] == ["user_suspended"]
    await hands.leased(of_bob)


async def test_a_suspended_tenant_has_none_meanwhile(app: BrokerHarness, hands: Hands) -> None:
    ada = await an_ada(app)
    reference = await hands.make(ada)
    await set_tenant_status(app.console, ACTOR, ada.tenant_id, "suspended")
    assert await hands.refused(reference) is RefusalReason.TENANT_SUSPENDED
    await set_tenant_status(app.console, ACTOR, ada.tenant_id, "active")
    await hands.leased(reference)


async def test_who_is_removed_has_none(app: BrokerHarness, hands: Hands) -> None:
    ada = await an_ada(app)
    reference = await hands.make(ada)
    await remove_user(app.console, ACTOR, ada.tenant_id, ada.id)
    assert await hands.refused(reference) is RefusalReason.UNKNOWN


async def test_a_removed_tenant_takes_its_own_with_it(app: BrokerHarness, hands: Hands) -> None:
    ada, eve = await an_ada(app, "acme"), await an_ada(app, "evil")
    reference, of_another = await hands.make(ada), await hands.make(eve)
    await remove_tenant(app.console, ACTOR, ada.tenant_id, "acme")
    assert await hands.refused(reference) is RefusalReason.UNKNOWN
    await hands.leased(of_another)


@pytest.mark.guarantee("G10")
async def test_it_ends_with_the_credential_that_made_it(app: BrokerHarness, hands: Hands) -> None:
    """Whoever had stolen an API token keeps nothing of it."""
    ada = await an_ada(app)
    other_id, other = await app.tokens.create(ACTOR, ada.tenant_id, ada.id, "another")
    stolen, kept = await hands.make(ada), await hands.make(dataclasses.replace(ada, token_id=other_id, token=other))
    await app.tokens.revoke(ACTOR, ada.tenant_id, ada.token_id)
    assert await hands.refused(stolen) is RefusalReason.REVOKED
    await hands.leased(kept)
    await app.mandates.sweep()
    assert [one["cause"] for one in await events(app, ada.tenant_id, "ended")] == ["credential_revoked"]


@pytest.mark.guarantee("G10")
async def test_it_ends_with_the_connection(app: BrokerHarness, hands: Hands) -> None:
    """It would go on with a shared account, or with another one that is connected later."""
    ada = await an_ada(app)
    shared = await app.credentials.resolve_owner(ada.tenant_id, role="all")
    await app.put(ada.tenant_id, shared, "shared")
    reference, of_another = await hands.make(ada, READING, SEARCHING), await hands.make(ada, SEARCHING)
    await app.credentials.remove(ACTOR, ada.tenant_id, "github", ada.own)
    assert await hands.refused(reference) is RefusalReason.REVOKED
    assert isinstance(await hands.worker.verify_mandate(of_another), Credential)
    await app.mandates.sweep()
    assert [one["cause"] for one in await events(app, ada.tenant_id, "ended")] == ["disconnected"]


async def test_a_refreshed_or_replaced_key_does_not_end_it(app: BrokerHarness, hands: Hands) -> None:
    ada = await an_ada(app)
    reference = await hands.make(ada)
    await app.put(ada.tenant_id, ada.own, "next-key-of-ada-0123456789")
    assert (await hands.leased(reference)).access_token == Secret("next-key-of-ada-0123456789")


# Consent, use and sweeping ----------------------------------------------------------------------------------------


@pytest.mark.guarantee("G10")
async def test_a_schedule_waits_for_consent(app: BrokerHarness, hands: Hands) -> None:
    """A gateway that is taken over plants nothing that outlives the call of the person."""
    ada = await an_ada(app)
    bob = await app.person(ada.tenant_id, "bob@example.test", "all")
    made = await hands.ask(ada, purpose=MandatePurpose.SCHEDULE, lifetime=timedelta(days=30))
    assert isinstance(made, Mandate)
    assert made.needs_consent
    assert await hands.refused(made.reference) is RefusalReason.NO_CONSENT
    for other in (bob.id, uuid4()):
        with pytest.raises(Exception, match="nothing waits"):
            await app.mandates.consent(ACTOR, ada.tenant_id, made.id, user_id=other)
    await app.mandates.consent(ACTOR, ada.tenant_id, made.id, user_id=ada.id)
    await hands.leased(made.reference)
    assert len(await events(app, ada.tenant_id, "consented")) == 1


async def test_nobody_consents_too_late(app: BrokerHarness, hands: Hands) -> None:
    ada = await an_ada(app)
    reference = await hands.make(ada, purpose=MandatePurpose.SYNC, lifetime=timedelta(days=30))
    app.clock.ahead = CONSENT_TIME + HOUR
    assert await app.mandates.sweep() == 1
    with pytest.raises(Exception, match="nothing waits"):
        await app.mandates.consent(ACTOR, ada.tenant_id, reference.mandate_id, user_id=ada.id)
    assert await hands.refused(reference) is RefusalReason.EXPIRED


async def test_use_is_noted_once_a_minute_and_told_once(app: BrokerHarness, hands: Hands) -> None:
    ada = await an_ada(app)
    reference = await hands.make(ada)
    (unused,) = await app.mandates.list_page(ada.tenant_id, ada.id, None, 10)
    assert unused.last_used_at is None
    uses = []
    for ahead in (timedelta(), timedelta(seconds=30), timedelta(minutes=2)):
        app.clock.ahead = ahead
        await hands.leased(reference)
        (entry,) = await app.mandates.list_page(ada.tenant_id, ada.id, None, 10)
        uses.append(entry.last_used_at)
    assert uses[0] == uses[1] < uses[2]
    assert len(await events(app, ada.tenant_id, "used")) == 1


async def test_old_ones_are_forgotten_once_their_end_is_recorded(app: BrokerHarness, hands: Hands) -> None:
    ada = await an_ada(app)
    ended, live = await hands.make(ada), await hands.make(ada, lifetime=timedelta(days=5))
    await hands.gateway.end_mandate(ended)
    app.clock.ahead = timedelta(days=2)
    await app.mandates.sweep()
    async with app.database.admin_connection() as admin:
        assert [row["id"] for row in await admin.fetch("SELECT id FROM auth.mandates")] == [live.mandate_id]
