"""Sign-in in two tenants with the same people, and each of its statements without its tenant filter: row-level security
lets no foreign row be read, changed or removed."""

import ast
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from broker.identity.identity_services import IdentityServices, build_identity_services
from broker.identity.in_process_verifier import InProcessSubject, InProcessVerifier
from broker.identity.providers.identity_provider import VerifiedAccount
from core.caller import Credential
from core.db import Database
from core.directory import users
from core.directory.audit_trail import Actor
from core.errors import MCPistError
from core.http.json_documents import JsonDocumentFetcher
from core.http.outbound_addresses import AllowedAddresses
from core.secret import Secret
from tests.core.directory.test_isolation import FILTER, mutants, pair_mutants, watched
from tests.support.directory import create_tenant
from tests.support.mutation import Mutator, find_leaks, together_and_alone
from tests.support.postgres import ScratchDatabase

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
ACTOR = Actor("tester")
HERE = Path(__file__).parents[3] / "broker" / "identity"
ELSEWHERE = {"api_tokens.py", "verifier.py", "scim_tokens.py"}  # tests/core/directory
TABLES = ("core.users", "auth.identities", "auth.sessions", "auth.one_time_links", "core.generations", "audit.incoming")


@dataclass(slots=True)
class Teller:
    """Tells the same story in one new tenant after the other, and looks whether the earlier ones stay as they are."""

    database: ScratchDatabase
    console: Database
    broker: Database
    door: IdentityServices
    now: datetime = NOW
    number: int = 0

    async def tell(self) -> tuple[list[Any], bool]:
        self.number += 1
        tenant = await create_tenant(self.console, ACTOR, f"tenant{self.number}", "The same name")
        made = [await users.create_user(self.console, ACTOR, tenant.id, f"{name}@mail.test") for name in ("ada", "bob")]
        before = await self._others(tenant.id)
        told = await the_story(self.door, self, tenant.id, *made)
        return told, await self._others(tenant.id) == before

    async def _others(self, tenant_id: UUID) -> list[Any]:
        async with self.database.admin_connection() as admin:
            return [
                [tuple(row) for row in await admin.fetch(f"SELECT * FROM {table} WHERE tenant_id <> $1", tenant_id)]
                for table in TABLES
            ]


def account(name: str, subject: str) -> VerifiedAccount:
    return VerifiedAccount("https://idp.test", subject, f"{name}@mail.test", True, "Name")


async def the_story(door: IdentityServices, teller: Teller, tenant_id: UUID, ada: UUID, bob: UUID) -> list[Any]:
    """Every statement with a filter runs at least once."""
    told: list[Any] = []
    began = teller.now = NOW + timedelta(days=teller.number)
    links = [await door.links.create(ACTOR, tenant_id, user) for user in (ada, ada, bob)]
    told.append([await door.links.peek(one) is not None for one in links])
    told.append([await door.links.consume(one) is not None for one in links])
    entered: list[Any] = []
    for name, subject in (("ada", "1"), ("ada", "2"), ("eve", "3"), ("ada", "1")):
        teller.now += timedelta(seconds=1)  # of sessions of one moment, anyone may be the oldest
        entered.append(await door.admission.start_session(tenant_id, account(name, subject), "company"))
    told.append([one.reason if not isinstance(one, Secret) else "in" for one in entered])
    await attempt(told, door.identities.link(ACTOR, tenant_id, bob, account("ada", "1")))
    await attempt(told, door.identities.link(ACTOR, tenant_id, bob, account("bob", "4")))
    teller.now += timedelta(minutes=2)
    found = [await door.sessions.find(one) for one in entered if isinstance(one, Secret)]
    told.append([one.email if one else None for one in found])
    for user in (ada, bob):
        told.append([(one.method, one.last_seen_at - began) for one in await door.sessions.list(tenant_id, user)])
        told.append([(one.subject, one.email) for one in await door.identities.list(tenant_id, user)])
        told.append(await pages(door, began, tenant_id, user))
    if found and found[0]:
        await attempt(told, door.sessions.end(ACTOR, tenant_id, found[0].id))
    told.append(await door.sessions.end_all(ACTOR, tenant_id, ada))
    told.append([await spoken_for(teller.broker, tenant_id, user) for user in (ada, bob)])
    (last,) = await door.identities.list(tenant_id, bob)
    for actor in (Actor("bob", bob), ACTOR, ACTOR):
        await attempt(told, door.identities.unlink(actor, tenant_id, last.id, user_id=bob))
    told.append(await many_sessions(door, teller, tenant_id, bob))
    return told


async def spoken_for(broker: Database, tenant_id: UUID, user: UUID) -> bool:
    """Whether a command of the operator's may speak for a user of a tenant."""
    subject = InProcessSubject(tenant_id, user)
    known = await InProcessVerifier(subject, broker).verify(subject.secret)
    return isinstance(known, Credential) and (known.tenant_id, known.user_id) == (tenant_id, user)


async def pages(door: IdentityServices, began: datetime, tenant_id: UUID, user: UUID) -> list[Any]:
    """Both lists, one at a time."""
    told: list[Any] = []
    for page in (door.sessions.list_page, door.identities.list_page):
        after: tuple[datetime, UUID] | None = None
        while found := await page(tenant_id, user, after, 1):
            after = (found[0].created_at, found[0].id)
            told.append(found[0].created_at - began)
    return told


async def many_sessions(door: IdentityServices, teller: Teller, tenant_id: UUID, user: UUID) -> list[Any]:
    began = teller.now
    for _ in range(3):
        teller.now += timedelta(seconds=1)
        await door.sessions.begin(tenant_id, user, "link")
    return [one.created_at - began for one in await door.sessions.list(tenant_id, user)]


async def attempt(told: list[Any], tried: Any) -> None:
    try:
        told.append(await tried)
    except MCPistError as error:
        told.append(type(error).__name__)


@pytest.fixture
async def teller(database: ScratchDatabase, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Teller]:
    async with database.open("mcpist_console") as console, database.open("mcpist_broker") as broker:
        yield telling(database, console, broker, monkeypatch)


@pytest.fixture
async def unbound(database: ScratchDatabase, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Teller]:
    """As one whom row-level security does not bind."""
    superuser = Database(database.admin)
    await superuser.open()
    yield telling(database, superuser, superuser, monkeypatch)
    await superuser.close()


def telling(database: ScratchDatabase, console: Database, broker: Database, monkeypatch: pytest.MonkeyPatch) -> Teller:
    monkeypatch.setattr("broker.identity.browser_sessions.MAX_SESSIONS", 2)
    made = Teller(
        database,
        console,
        broker,
        build_identity_services(
            broker, (), "https://mcpist.test", clock=lambda: made.now, http=JsonDocumentFetcher(AllowedAddresses())
        ),
    )
    return made


def written() -> list[str]:
    """Every text with a filter in the source of sign-in."""
    trees = [ast.parse(path.read_text("utf-8")) for path in HERE.rglob("*.py") if path.name not in ELSEWHERE]
    texts = [node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return [text for text in texts if isinstance(text, str) and FILTER.search(text)]


async def noted(monkeypatch: pytest.MonkeyPatch, teller: Teller) -> tuple[list[str], list[Any]]:
    """The statements of sign-in that ran, and what was told."""
    mutator, ours = Mutator(), written()
    with monkeypatch.context() as patch:
        watched(patch, mutator)
        told, left_alone = await teller.tell()
    assert left_alone
    return [sql for sql in mutator.seen if sql in ours], told


@pytest.mark.guarantee("G9")
@together_and_alone
async def test_each_statement_without_its_filter_shows_and_changes_nothing_more(
    teller: Teller, monkeypatch: pytest.MonkeyPatch, alone: bool
) -> None:
    seen, _ = await noted(monkeypatch, teller)
    _, expected = await noted(monkeypatch, teller)
    assert set(written()) == set(seen), "a statement is missing from the story"

    async def tell(mutator: Mutator) -> tuple[list[Any], bool]:
        with monkeypatch.context() as patch:
            watched(patch, mutator)
            return await teller.tell()

    assert await find_leaks(pair_mutants(seen), tell, (expected, True), alone=alone) == []


# Without its filter such a statement finds the same row: by an id or a hash that is unique over all tenants.
BY_SOMETHING_UNIQUE = (
    "core.users WHERE tenant_id = $1 AND id = $2",
    "u.id = $2",
    "secret_hash = $2",
    "AND user_id = $2",
    "auth.identities WHERE tenant_id = $1 AND id = $2",
)
BY_SOMETHING_UNIQUE += ("UPDATE auth.sessions SET last_seen_at", "UPDATE auth.sessions SET ended_at = $2")


async def test_without_row_level_security_the_same_mutants_are_noticed(
    unbound: Teller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: the story tells a missing filter from one that is there, if nothing stands behind it."""
    await unbound.tell()
    seen, _ = await noted(monkeypatch, unbound)
    _, expected = await noted(monkeypatch, unbound)
    unnoticed = [
        sql
        for sql in seen
        if not any(part in sql for part in BY_SOMETHING_UNIQUE)
        and not await noticed(monkeypatch, unbound, sql, expected)
    ]
    assert unnoticed == []


async def noticed(monkeypatch: pytest.MonkeyPatch, teller: Teller, sql: str, expected: list[Any]) -> bool:
    with monkeypatch.context() as patch:
        watched(patch, Mutator({sql: mutants(sql)[-1]}))
        try:
            return await teller.tell() != (expected, True)
        except (asyncpg.PostgresError, MCPistError, ValueError):
            return True
