"""Who gets in where."""

import asyncio
from uuid import UUID

import pytest

from broker.identity.admission import AdmissionDenied, TenantChoice
from core.directory import allow_list, tenants
from core.directory.audit_trail import Actor
from core.errors import Conflict, NotFound
from core.secret import Secret
from tests.broker.identity.people import ACTOR, People, account
from tests.support import directory


async def reason(people: People, email: str, subject: str = "", issuer: str = "https://idp.test") -> str:
    """Why the account gets in nowhere."""
    found = await people.door.admission.list_choices(account(email, subject, issuer))
    assert isinstance(found, AdmissionDenied), found
    return found.reason


async def names(people: People, email: str, subject: str = "", issuer: str = "https://idp.test") -> list[str]:
    """Where the account gets in."""
    found = await people.door.admission.list_choices(account(email, subject, issuer))
    assert not isinstance(found, AdmissionDenied), found
    return [one.name for one in found]


async def entered(people: People, tenant_id: UUID, email: str, subject: str = "", issuer: str = "https://idp.test"):
    secret = await people.door.admission.start_session(tenant_id, account(email, subject, issuer), "company")
    assert isinstance(secret, Secret), secret
    session = await people.sessions.find(secret)
    assert session is not None
    return session


async def test_an_address_or_its_domain_has_to_be_listed(people: People) -> None:
    await people.tenant("one", "ada@acme.test")
    await people.tenant("two", "@acme.test")
    await people.tenant("three", "@sub.acme.test", "ad@acme.test", "@test", "bob@acme.test")
    assert await names(people, "ada@acme.test") == ["One", "Two"]
    assert await names(people, "bob@acme.test") == ["Three", "Two"]
    assert await names(people, "eve@acme.test") == ["Two"]
    for email in ("eve@other.test", "eve@notacme.test", "eve@acme.test.evil"):
        assert await reason(people, email) == "not_listed"


async def test_an_address_that_nobody_vouches_for_counts_for_nothing(people: People) -> None:
    await people.tenant("acme", "@acme.test")
    assert await reason(people, "", "somebody") == "unverified_email"


async def test_the_first_sign_in_makes_the_user_and_ties_the_account(people: People) -> None:
    tenant_id = await people.tenant("acme", "@acme.test")
    [choice] = await people.door.admission.list_choices(account("ada@acme.test", "1"))  # type: ignore[misc]
    assert choice == TenantChoice(tenant_id, "Acme", None)
    session = await entered(people, tenant_id, "ada@acme.test", "1")
    assert (session.email, session.name, session.system_role) == ("ada@acme.test", "A Name", "user")
    [tied] = await people.door.identities.list(tenant_id, session.user_id)
    assert (tied.issuer, tied.subject, tied.email) == ("https://idp.test", "1", "ada@acme.test")
    kinds = [len(await people.events(kind, tenant_id)) for kind in ("user.created", "identity.linked", "sign_in")]
    assert kinds == [1, 1, 1]
    again = await entered(people, tenant_id, "ada@acme.test", "1")
    assert (again.user_id, again.id != session.id) == (session.user_id, True)
    assert len(await people.events("identity.linked", tenant_id)) == 1


async def test_a_user_whom_an_administrator_has_made_is_found_once_by_address(people: People) -> None:
    tenant_id = await people.tenant("acme")
    user_id = await people.user(tenant_id, "ada@acme.test", system_role="admin")
    assert (await entered(people, tenant_id, "ada@acme.test", "1")).user_id == user_id
    # Her address has been given to somebody else, who has another account.
    assert await reason(people, "ada@acme.test", "2") == "other_account"
    assert await reason(people, "ada@acme.test", "1", "https://other.test") == "other_account"
    refused = await people.door.admission.start_session(tenant_id, account("ada@acme.test", "2"), "company")
    assert refused == AdmissionDenied("other_account", (tenant_id,))


async def test_a_known_account_keeps_its_user_when_the_address_changes(people: People) -> None:
    tenant_id = await people.tenant("acme", "@acme.test")
    first = await entered(people, tenant_id, "ada@acme.test", "1")
    bob = await entered(people, tenant_id, "bob@acme.test", "2")
    assert (await entered(people, tenant_id, "countess@acme.test", "1")).user_id == first.user_id
    assert (await entered(people, tenant_id, "bob@acme.test", "1")).user_id == first.user_id  # not Bob
    assert (await entered(people, tenant_id, "", "1")).user_id == first.user_id
    assert (await entered(people, tenant_id, "bob@acme.test", "2")).user_id == bob.user_id


async def test_whoever_is_taken_off_the_list_signs_in_no_more(people: People) -> None:
    tenant_id = await people.tenant("acme", "@acme.test", "bob@acme.test")
    for email in ("ada@acme.test", "bob@acme.test"):
        await entered(people, tenant_id, email)
    await allow_list.remove_entry(people.console, ACTOR, tenant_id, "@acme.test")
    assert await reason(people, "ada@acme.test") == "not_listed"
    refused = await people.door.admission.start_session(tenant_id, account("ada@acme.test"), "company")
    assert refused == AdmissionDenied("not_listed", (tenant_id,))
    assert await names(people, "bob@acme.test") == ["Acme"]


async def test_a_tied_account_with_an_address_of_its_own_needs_only_its_user_s_to_be_listed(people: People) -> None:
    tenant_id = await people.tenant("acme")
    user_id = await people.user(tenant_id, "ada@acme.test")
    await people.door.identities.link(ACTOR, tenant_id, user_id, account("ada@home.test", "1", "https://github.com"))
    assert (await entered(people, tenant_id, "ada@home.test", "1", "https://github.com")).user_id == user_id
    assert (await entered(people, tenant_id, "", "1", "https://github.com")).user_id == user_id
    await allow_list.remove_entry(people.console, ACTOR, tenant_id, "ada@acme.test")
    assert await reason(people, "ada@home.test", "1", "https://github.com") == "not_listed"


async def test_suspended_users_and_tenants(people: People) -> None:
    acme, other = await people.tenant("acme", "@acme.test"), await people.tenant("other", "@acme.test")
    await entered(people, acme, "ada@acme.test")
    await directory.set_status(people.console, ACTOR, acme, "ada@acme.test", "suspended")
    assert await names(people, "ada@acme.test") == ["Other"]
    await tenants.set_status(people.console, ACTOR, other, "suspended")
    assert await reason(people, "ada@acme.test") == "suspended"
    for tenant_id in (acme, other):
        refused = await people.door.admission.start_session(tenant_id, account("ada@acme.test"), "company")
        assert refused == AdmissionDenied("suspended", (tenant_id,))


async def test_the_same_account_is_another_user_in_each_tenant(people: People) -> None:
    acme, other = await people.tenant("acme", "@acme.test"), await people.tenant("other", "@acme.test")
    first, second = [await entered(people, tenant_id, "ada@acme.test") for tenant_id in (acme, other)]
    assert first.user_id != second.user_id
    assert (first.tenant_id, second.tenant_id) == (acme, other)


async def test_twenty_first_sign_ins_at_once_make_one_user(people: People) -> None:
    tenant_id = await people.tenant("acme", "@acme.test")
    sessions = await asyncio.gather(*(entered(people, tenant_id, "ada@acme.test") for _ in range(20)))
    assert len({one.user_id for one in sessions}) == 1


async def test_two_accounts_of_one_address_at_once_tie_one(people: People) -> None:
    tenant_id = await people.tenant("acme", "@acme.test")
    tried = [
        people.door.admission.start_session(tenant_id, account("ada@acme.test", str(n)), "company") for n in range(20)
    ]
    outcomes = await asyncio.gather(*tried)
    assert sum(isinstance(one, Secret) for one in outcomes) == 1
    assert await people.value("SELECT count(*) FROM auth.identities") == 1


async def test_issuer_and_subject_are_compared_each_for_itself(people: People) -> None:
    tenant_id = await people.tenant("acme")
    user_id = await people.user(tenant_id, "ada@acme.test")
    await people.door.identities.link(ACTOR, tenant_id, user_id, account("", "b c", "https://a"))
    assert await names(people, "", "b c", "https://a") == ["Acme"]
    assert await reason(people, "", "c", "https://a b") == "unverified_email"
    assert await reason(people, "", "B C", "https://a") == "unverified_email"


async def test_an_account_belongs_to_one_user(people: People) -> None:
    tenant_id = await people.tenant("acme")
    ada, bob = [await people.user(tenant_id, f"{name}@acme.test") for name in ("ada", "bob")]
    await people.door.identities.link(ACTOR, tenant_id, ada, account("x@home.test"))
    await people.door.identities.link(ACTOR, tenant_id, ada, account("x@home.test"))
    with pytest.raises(Conflict):
        await people.door.identities.link(ACTOR, tenant_id, bob, account("x@home.test"))
    (tied,) = await people.door.identities.list(tenant_id, ada)
    with pytest.raises(NotFound):
        await people.door.identities.unlink(ACTOR, tenant_id, tied.id, user_id=bob)
    await people.door.identities.unlink(ACTOR, tenant_id, tied.id)
    await people.door.identities.link(ACTOR, tenant_id, bob, account("x@home.test"))
    assert len(await people.events("identity.unlinked", tenant_id)) == 1


async def test_of_two_accounts_that_somebody_unties_at_once_one_stays(people: People) -> None:
    tenant_id = await people.tenant("acme")
    for number in range(5):
        ada = await people.user(tenant_id, f"ada{number}@acme.test")
        for subject in ("a", "b"):
            await people.door.identities.link(ACTOR, tenant_id, ada, account("", f"{number}{subject}"))
        tied = await people.door.identities.list(tenant_id, ada)
        mine = Actor("ada", ada)
        ended = await asyncio.gather(
            *(people.door.identities.unlink(mine, tenant_id, one.id, user_id=ada) for one in tied),
            return_exceptions=True,
        )
        assert sorted(type(one).__name__ for one in ended) == ["Conflict", "NoneType"]
        assert len(await people.door.identities.list(tenant_id, ada)) == 1
