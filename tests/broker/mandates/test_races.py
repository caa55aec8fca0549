"""Mandates that are made, used and ended by several at once."""

import asyncio
import contextlib
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from broker.interface import (
    CredentialRefusal,
    Lease,
    LeaseRequest,
    Mandate,
    MandatePurpose,
    MandateRequest,
    RefusalReason,
)
from broker.mandates.mandate_records import insert_mandate
from core.caller import Credential
from core.errors import NotFound
from tests.broker.broker_harness import ACTOR, BrokerHarness, Person
from tests.broker.contract import an_ada
from tests.broker.mandates.contract import READING, events
from tests.support.eventually import within

AT_ONCE = 20


def wanted(person: Person) -> MandateRequest:
    until = datetime.now(UTC) + timedelta(hours=1)
    return MandateRequest(person.token, MandatePurpose.JOB, uuid4(), "Count stars", (READING,), until)


async def test_twenty_equal_requests_make_one_mandate(app: BrokerHarness) -> None:
    ada = await an_ada(app)
    request = wanted(ada)
    made = await asyncio.gather(*(app.local.create_mandate(request) for _ in range(AT_ONCE)))
    assert len({one.id for one in made if isinstance(one, Mandate)}) == 1
    assert [one for one in made if not isinstance(one, Mandate)] == []
    assert len(await events(app, ada.tenant_id, "created")) == 1


async def test_the_first_use_is_told_once(app: BrokerHarness) -> None:
    ada = await an_ada(app)
    made = await app.local.create_mandate(wanted(ada))
    assert isinstance(made, Mandate)
    request = LeaseRequest(made.reference, *READING)
    leases = await asyncio.gather(*(app.local.lease(request) for _ in range(AT_ONCE)))
    assert [one for one in leases if not isinstance(one, Lease)] == []
    assert len(await events(app, ada.tenant_id, "used")) == 1


async def test_its_end_is_told_once(app: BrokerHarness) -> None:
    """Revoked, done, expired and swept in one moment."""
    ada = await an_ada(app)
    made = await app.local.create_mandate(wanted(ada))
    assert isinstance(made, Mandate)
    ends: list[Coroutine[Any, Any, Any]] = []
    for _ in range(AT_ONCE // 4):
        ends += [app.local.end_mandate(made.reference), _revoke(app, made), app.mandates.sweep()]
    await asyncio.gather(*ends)
    told = await events(app, ada.tenant_id, "revoked") + await events(app, ada.tenant_id, "ended")
    assert len(told) == 1


async def _revoke(app: BrokerHarness, made: Mandate) -> None:
    with contextlib.suppress(NotFound):
        await app.mandates.revoke(ACTOR, made.tenant_id, made.id)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE core.users SET status = 'suspended' WHERE tenant_id = $1",
        "UPDATE auth.api_tokens SET revoked_at = now() WHERE tenant_id = $1",
    ],
)
async def test_what_is_made_while_its_right_is_taken_away_is_not_made(app: BrokerHarness, statement: str) -> None:
    """It would be there when the person is back, or the token's thief would keep it."""
    ada = await an_ada(app)
    async with app.database.admin_connection() as admin:
        async with admin.transaction():
            await admin.execute(statement, ada.tenant_id)
            making = asyncio.create_task(app.local.create_mandate(wanted(ada)))

            async def it_waits() -> bool:
                return await admin.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted") > 0

            await within(5, it_waits)
        refusal = await making
    assert isinstance(refusal, CredentialRefusal)
    assert refusal.reason is RefusalReason.FORBIDDEN
    assert not await app.mandates.list_page(ada.tenant_id, ada.id, None, 100)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE core.users SET status = 'suspended' WHERE tenant_id = $1",
        "UPDATE auth.api_tokens SET revoked_at = now() WHERE tenant_id = $1",
    ],
)
async def test_whoever_takes_the_right_away_waits_for_what_is_being_made(app: BrokerHarness, statement: str) -> None:
    ada = await an_ada(app)
    async with app.trusted.tenant(ada.tenant_id) as work:
        caller = await app.tokens.verify(ada.token)
        assert isinstance(caller, Credential)
        until = datetime.now(UTC) + timedelta(hours=1)
        made = await insert_mandate(work, caller, wanted(ada).terms, "", until, datetime.now(UTC))
        assert made
        taking = asyncio.create_task(app.execute(statement, ada.tenant_id))

        async def it_waits() -> bool:
            async with app.database.admin_connection() as admin:
                return await admin.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted") > 0

        await within(5, it_waits)
    await taking
    assert isinstance(await app.local.verify_mandate(made.reference), CredentialRefusal)
    assert not await app.mandates.list_page(ada.tenant_id, ada.id, None, 100)
