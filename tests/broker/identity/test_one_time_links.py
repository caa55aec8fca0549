"""One-time links: once, for fifteen minutes, the newest one only."""

import asyncio
from datetime import timedelta
from uuid import uuid4

import pytest

from core.directory import tenants
from core.errors import Invalid, NotFound
from core.secret import Secret
from tests.broker.identity.people import ACTOR, People
from tests.support import directory


async def test_it_signs_its_user_in_once(people: People) -> None:
    tenant_id = await people.tenant("acme")
    user_id = await people.user(tenant_id, "admin@localhost", system_role="admin")
    code = await people.door.links.create(ACTOR, tenant_id, user_id)
    assert code.reveal() not in str(await people.value("SELECT string_agg(l::text, ' ') FROM auth.one_time_links l"))
    for _ in range(2):  # looking is not using
        target = await people.door.links.peek(code)
        assert target is not None
        assert (target.email, target.tenant_name) == ("admin@localhost", "Acme")
    used = await people.door.links.consume(code, "192.0.2.1", "curl")
    assert used is not None
    session = await people.sessions.find(used[1])
    assert session is not None
    assert (session.user_id, session.system_role, session.method) == (user_id, "admin", "link")
    assert await people.door.links.consume(code) is None
    assert await people.door.links.peek(code) is None
    [created] = await people.events("link.created", tenant_id)
    assert created.detail == {"user": str(user_id), "email": "admin@localhost"}
    assert len(await people.events("sign_in", tenant_id)) == 1


@pytest.mark.guarantee("G14")
async def test_of_twenty_at_once_one_wins(people: People) -> None:
    tenant_id = await people.tenant("acme")
    user_id = await people.user(tenant_id, "ada@acme.test")
    code = await people.door.links.create(ACTOR, tenant_id, user_id)
    outcomes = await asyncio.gather(*(people.door.links.consume(code) for _ in range(20)))
    assert sum(one is not None for one in outcomes) == 1
    assert len(await people.sessions.list(tenant_id, user_id)) == 1


async def test_fifteen_minutes(people: People) -> None:
    tenant_id = await people.tenant("acme")
    user_id = await people.user(tenant_id, "ada@acme.test")
    code = await people.door.links.create(ACTOR, tenant_id, user_id)
    people.clock.now += timedelta(minutes=15)
    assert await people.door.links.peek(code) is None
    assert await people.door.links.consume(code) is None


async def test_a_new_one_voids_the_older_ones_of_that_user(people: People) -> None:
    tenant_id = await people.tenant("acme")
    ada, bob = [await people.user(tenant_id, f"{name}@acme.test") for name in ("ada", "bob")]
    old, his = [await people.door.links.create(ACTOR, tenant_id, user_id) for user_id in (ada, bob)]
    new = await people.door.links.create(ACTOR, tenant_id, ada)
    assert await people.door.links.consume(old) is None
    assert await people.door.links.consume(his) is not None
    assert await people.door.links.consume(new) is not None


async def test_suspension_holds_back_old_and_new(people: People) -> None:
    tenant_id = await people.tenant("acme")
    user_id = await people.user(tenant_id, "ada@acme.test")
    code = await people.door.links.create(ACTOR, tenant_id, user_id)
    await directory.set_status(people.console, ACTOR, tenant_id, "ada@acme.test", "suspended")
    assert await people.door.links.consume(code) is None
    with pytest.raises(Invalid, match="suspended"):
        await people.door.links.create(ACTOR, tenant_id, user_id)
    await directory.set_status(people.console, ACTOR, tenant_id, "ada@acme.test", "active")
    await tenants.set_status(people.console, ACTOR, tenant_id, "suspended")
    assert await people.door.links.consume(code) is None


async def test_whom_it_cannot_be_for(people: People) -> None:
    acme, other = await people.tenant("acme"), await people.tenant("other")
    eve = await people.user(other, "eve@other.test")
    for user_id in (eve, uuid4()):
        with pytest.raises(NotFound):
            await people.door.links.create(ACTOR, acme, user_id)


@pytest.mark.parametrize("text", ["", "x" * 43, "x" * 9000, "../../etc/passwd"])
async def test_what_we_never_made(people: People, text: str) -> None:
    assert await people.door.links.consume(Secret(text)) is None
    assert await people.door.links.peek(Secret(text)) is None
