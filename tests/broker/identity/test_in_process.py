"""Whom a command speaks for: one user, in that process, and only while they and their tenant are active."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from broker.identity.in_process_verifier import OPERATOR_CREDENTIAL, InProcessSubject, InProcessVerifier
from broker.interface import CredentialRefusal, RefusalReason
from core.caller import Credential
from core.directory.tenants import set_status as set_tenant_status
from core.scopes import MCP_SCOPES
from core.secret import Secret
from tests.broker.world import ACTOR, Person, World, world_on
from tests.support.directory import set_status
from tests.support.postgres import ScratchDatabase

UNKNOWN = CredentialRefusal(RefusalReason.UNKNOWN)


@pytest.fixture
async def world(database: ScratchDatabase) -> AsyncIterator[World]:
    async with world_on(database) as made:
        yield made


@pytest.fixture
async def ada(world: World) -> Person:
    return await world.person(await world.tenant("acme"), "ada@acme.test")


async def test_only_its_own_secret_counts(world: World, ada: Person) -> None:
    subject = InProcessSubject(ada.tenant_id, ada.id)
    verifier = InProcessVerifier(subject, world.trusted)
    known = await verifier.verify(subject.secret)
    assert isinstance(known, Credential)
    assert (known.tenant_id, known.user_id, known.scopes, known.read_only) == (ada.tenant_id, ada.id, MCP_SCOPES, False)
    assert known.generation == await world.generation(ada.tenant_id)
    another = InProcessSubject(ada.tenant_id, ada.id).secret
    for other in (Secret(""), Secret("ü"), Secret(subject.secret.reveal()[:-1]), another, ada.token):
        assert await verifier.verify(other) == UNKNOWN
    assert await world.tokens.verify(subject.secret) == UNKNOWN, "no other process has heard of it"
    assert subject.secret.reveal() not in repr(subject)


async def test_it_speaks_for_nobody_who_is_away(world: World, ada: Person) -> None:
    subject = InProcessSubject(ada.tenant_id, ada.id)
    verifier = InProcessVerifier(subject, world.trusted)
    await set_status(world.console, ACTOR, ada.tenant_id, ada.email, "suspended")
    away = CredentialRefusal(RefusalReason.USER_SUSPENDED, ada.tenant_id, ada.id, OPERATOR_CREDENTIAL)
    assert await verifier.verify(subject.secret) == away
    await set_status(world.console, ACTOR, ada.tenant_id, ada.email, "active")
    await set_tenant_status(world.console, ACTOR, ada.tenant_id, "suspended")
    away = CredentialRefusal(RefusalReason.TENANT_SUSPENDED, ada.tenant_id, ada.id, OPERATOR_CREDENTIAL)
    assert await verifier.verify(subject.secret) == away


async def test_it_does_not_reach_into_another_tenant(world: World, ada: Person) -> None:
    globex = await world.tenant("globex")
    for elsewhere in (InProcessSubject(globex, ada.id), InProcessSubject(ada.tenant_id, uuid4())):
        assert await InProcessVerifier(elsewhere, world.trusted).verify(elsewhere.secret) == UNKNOWN
