"""Browser sessions: what counts, for how long, and what ends them."""

from uuid import UUID, uuid4

import pytest

from broker.identity.browser_sessions import Sessions
from core.directory import tenants, users
from core.errors import NotFound
from core.secret import Secret
from tests.broker.identity.people import ACTOR, People
from tests.support import directory


async def ada(people: People) -> tuple[UUID, UUID]:
    tenant_id = await people.tenant("acme")
    return tenant_id, await people.user(tenant_id, "ada@acme.test", name="Ada", system_role="admin")


async def test_a_session_tells_who_it_is_now(people: People) -> None:
    tenant_id, user_id = await ada(people)
    secret = await people.sessions.begin(tenant_id, user_id, "google", "192.0.2.1", "Firefox\x00\n")
    found = await people.sessions.find(secret)
    assert found is not None
    assert (found.tenant_id, found.tenant_name, found.user_id) == (tenant_id, "Acme", user_id)
    assert (found.email, found.name, found.system_role, found.method) == ("ada@acme.test", "Ada", "admin", "google")
    assert found.is_fresh(people.clock.now)
    [entry] = await people.sessions.list(tenant_id, user_id)
    assert (entry.id, entry.address, entry.user_agent) == (found.id, "192.0.2.1", "Firefox  ")
    [event] = await people.events("sign_in", tenant_id)
    assert (event.actor, event.user_id, event.credential_id) == ("ada@acme.test", user_id, str(found.id))
    await people.execute("UPDATE core.users SET system_role = 'user'")
    again = await people.sessions.find(secret)
    assert again is not None
    assert again.system_role == "user"


async def test_only_a_hash_is_stored_and_every_sign_in_has_a_new_secret(people: People) -> None:
    tenant_id, user_id = await ada(people)
    first, second = [await people.sessions.begin(tenant_id, user_id, "link") for _ in range(2)]
    assert first != second
    stored = str(await people.value("SELECT string_agg(s::text, ' ') FROM auth.sessions s"))
    assert first.reveal() not in stored


async def test_idle_and_absolute_limits(people: People) -> None:
    tenant_id, user_id = await ada(people)
    secret = await people.sessions.begin(tenant_id, user_id, "link")
    for _ in range(24):
        people.clock.forward(minutes=29)
        assert await people.sessions.find(secret) is not None
    people.clock.forward(minutes=25)  # 12 hours and a minute, though never idle for long
    assert await people.sessions.find(secret) is None
    idle = await people.sessions.begin(tenant_id, user_id, "link")
    people.clock.forward(minutes=30)
    assert await people.sessions.find(idle) is None
    assert await people.sessions.list(tenant_id, user_id) == []


async def test_last_use_is_noted_once_a_minute(people: People) -> None:
    tenant_id, user_id = await ada(people)
    secret = await people.sessions.begin(tenant_id, user_id, "link")
    began = people.clock.now
    people.clock.forward(seconds=50)
    await people.sessions.find(secret)
    assert (await people.sessions.list(tenant_id, user_id))[0].last_seen_at == began
    people.clock.forward(seconds=20)
    await people.sessions.find(secret)
    assert (await people.sessions.list(tenant_id, user_id))[0].last_seen_at == people.clock.now


async def test_suspension_ends_it_at_once(people: People) -> None:
    tenant_id, user_id = await ada(people)
    secret = await people.sessions.begin(tenant_id, user_id, "link")
    await users.create_user(people.console, ACTOR, tenant_id, "bob@acme.test", system_role="admin")
    await directory.set_status(people.console, ACTOR, tenant_id, "ada@acme.test", "suspended")
    assert await people.sessions.find(secret) is None
    with pytest.raises(NotFound):
        await people.sessions.begin(tenant_id, user_id, "link")
    await directory.set_status(people.console, ACTOR, tenant_id, "ada@acme.test", "active")
    await tenants.set_status(people.console, ACTOR, tenant_id, "suspended")
    assert await people.sessions.find(secret) is None
    with pytest.raises(NotFound):
        await people.sessions.begin(tenant_id, user_id, "link")


async def test_ending_one_and_all_others(people: People) -> None:
    tenant_id, user_id = await ada(people)
    bob = await people.user(tenant_id, "bob@acme.test")
    secrets = [await people.sessions.begin(tenant_id, user_id, "link") for _ in range(3)]
    his = await people.sessions.begin(tenant_id, bob, "link")
    found = [await people.sessions.find(secret) for secret in (*secrets, his)]
    ids = [one.id for one in found if one is not None]
    await people.sessions.end(ACTOR, tenant_id, ids[0], user_id=user_id)
    for wrong in (ids[0], ids[3], uuid4()):  # ended already, Bob's, nobody's
        with pytest.raises(NotFound):
            await people.sessions.end(ACTOR, tenant_id, wrong, user_id=user_id)
    assert await people.sessions.end_all(ACTOR, tenant_id, user_id, but=ids[1]) == 1
    assert [await people.sessions.find(secret) is not None for secret in (*secrets, his)] == [False, True, False, True]
    assert {event.detail["session"] for event in await people.events("session.ended", tenant_id) if event.detail} == {
        str(ids[0]),
        str(ids[2]),
    }


async def test_another_tenant_ends_nothing(people: People) -> None:
    tenant_id, user_id = await ada(people)
    other = await people.tenant("other")
    secret = await people.sessions.begin(tenant_id, user_id, "link")
    found = await people.sessions.find(secret)
    assert found is not None
    with pytest.raises(NotFound):
        await people.sessions.end(ACTOR, other, found.id)
    assert await people.sessions.end_all(ACTOR, other, user_id) == 0
    assert await people.sessions.list(other, user_id) == []


async def test_a_user_has_at_most_fifty(people: People) -> None:
    tenant_id, user_id = await ada(people)
    secrets = []
    for _ in range(52):
        people.clock.forward(seconds=1)
        secrets.append(await people.sessions.begin(tenant_id, user_id, "link"))
    assert len(await people.sessions.list(tenant_id, user_id)) == 50
    assert [await people.sessions.find(secret) is None for secret in secrets[:4]] == [True, True, False, False]


@pytest.mark.parametrize("text", ["", "x" * 43, "x" * 42, "x" * 5000, "é" * 43, "' OR 1=1"])
async def test_what_we_never_made_counts_for_nothing(people: People, text: str) -> None:
    assert await people.sessions.find(Secret(text)) is None


async def test_a_malformed_cookie_asks_the_database_nothing() -> None:
    nothing: Sessions = Sessions(None, clock=None)  # type: ignore[arg-type]
    assert await nothing.find(Secret("x" * 44)) is None
