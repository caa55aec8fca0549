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
from tests.broker.broker_harness import ACTOR, BrokerHarness, Person, broker_harness_on
from tests.support.directory import set_status
from tests.support.postgres import ScratchDatabase

UNKNOWN = CredentialRefusal(RefusalReason.UNKNOWN)


@pytest.fixture
async def app(database: ScratchDatabase) -> AsyncIterator[BrokerHarness]:
    async with broker_harness_on(database) as made:
        yield made


@pytest.fixture
async def ada(app: BrokerHarness) -> Person:
    return await app.person(await app.tenant("acme"), "ada@acme.test")


async def test_only_its_own_secret_counts(app: BrokerHarness, ada: Person) -> None:
    subject = InProcessSubject(ada.tenant_id, ada.id)
    verifier = InProcessVerifier(subject, app.trusted)
    known = await verifier.verify(subject.secret)
    assert isinstance(known, Credential)
    assert (known.tenant_id, known.user_id, known.scopes, known.read_only) == (ada.tenant_id, ada.id, MCP_SCOPES, False)
    assert known.generation == await app.generation(ada.tenant_id)
    another = InProcessSubject(ada.tenant_id, ada.id).secret
    for other in (Secret(""), Secret("ü"), Secret(subject.secret.reveal()[:-1]), another, ada.token):
        assert await verifier.verify(other) == UNKNOWN
    assert await app.tokens.verify(subject.secret) == UNKNOWN, "no other process has heard of it"
    assert subject.secret.reveal() not in repr(subject)


async def test_it_speaks_for_nobody_who_is_away(app: BrokerHarness, ada: Person) -> None:
    subject = InProcessSubject(ada.tenant_id, ada.id)
    verifier = InProcessVerifier(subject, app.trusted)
    await set_status(app.console, ACTOR, ada.tenant_id, ada.email, "suspended")
    away = CredentialRefusal(RefusalReason.USER_SUSPENDED, ada.tenant_id, ada.id, OPERATOR_CREDENTIAL)
    assert await verifier.verify(subject.secret) == away
    await set_status(app.console, ACTOR, ada.tenant_id, ada.email, "active")
    await set_tenant_status(app.console, ACTOR, ada.tenant_id, "suspended")
    away = CredentialRefusal(RefusalReason.TENANT_SUSPENDED, ada.tenant_id, ada.id, OPERATOR_CREDENTIAL)
    assert await verifier.verify(subject.secret) == away


async def test_it_does_not_reach_into_another_tenant(app: BrokerHarness, ada: Person) -> None:
    globex = await app.tenant("globex")
    for elsewhere in (InProcessSubject(globex, ada.id), InProcessSubject(ada.tenant_id, uuid4())):
        assert await InProcessVerifier(elsewhere, app.trusted).verify(elsewhere.secret) == UNKNOWN
