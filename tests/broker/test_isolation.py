"""Every statement of the vault and the leases without its tenant filter: no foreign row is read, changed or deleted."""

import ast
from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from broker.connections.stored_credentials import (
    StoredCredential,
    find_credential,
    list_account_events,
    list_credentials,
)
from broker.interface import CredentialRefusal, Lease
from broker.user_policy import load_user_policy
from broker.vault import reencryption
from broker.vault.key_checks import count_data_keys
from broker.vault.key_rewrap import DataKeyRows, rewrap_keys
from broker.vault.key_wrapping import InMemoryKeyProvider
from broker.vault.origin_policy import OriginPolicy
from broker.vault.reencryption import SEALED_COLUMNS, Reencryption
from broker.vault.vault import Vault
from core.db import Database, UnitOfWork
from core.directory.services import set_service
from core.errors import Conflict, MCPistError, NotFound
from core.policy_loader import load_enabled_modules, load_roles
from tests.broker.broker_harness import ACTOR, READ, WRITE, BrokerHarness, Person, broker_harness_on
from tests.broker.sealed_rows import connect, texts
from tests.core.directory.test_isolation import FILTER, mutants, pair_mutants, watched
from tests.support.mutation import Mutator, find_leaks, together_and_alone
from tests.support.postgres import ScratchDatabase

ROOT = Path(__file__).parents[2]
WRITTEN_IN = (
    "broker/vault/*.py", "broker/user_policy.py", "broker/lease_service.py", "broker/connections/stored_credentials.py",
    "core/policy_loader.py",
)  # fmt: skip
NO_ORIGINS = OriginPolicy({})
SLUGS = (f"tenant-{number}" for number in count())
KEYS = {"k1": b"k" * 32, "k2": b"2" * 32}
NEW = InMemoryKeyProvider("k2", KEYS)


async def told(app: BrokerHarness) -> list[Any]:
    """The story of a tenant that has the same names as all tenants before it, without what differs in every run."""
    app.clock.ahead = timedelta()
    app.keys._keys.update(KEYS)
    tenant = await app.tenant(next(SLUGS))
    team = await app.role(tenant, "team", allow=["*"])
    ada = await app.person(tenant, "ada@example.test", "team")
    bob = await app.person(tenant, "bob@example.test", "team")
    await set_service(app.console, ACTOR, tenant, "notion", enabled=False)
    said: list[Any] = [await reencrypted(app, tenant, fresh=True)]  # nothing was ever sealed
    await app.put(tenant, ada.own, "own-1", account="ada")
    said += [await seen(app, ada), await enabled(app, tenant), await rewrapped(app, tenant)]
    await set_service(app.console, ACTOR, tenant, "notion", enabled=True)
    app.clock.ahead = timedelta(days=91)  # a new data key
    await app.put(tenant, ada.own, "own-2", account="ada")
    await app.put(tenant, team, "shared-1", account="team")
    await app.put(tenant, team, "shared-2", module="notion")
    await connect(app, bob, "notion")
    app.vault.forget(tenant)
    said += [await seen(app, ada), await seen(app, bob)]
    said.append((await app.credentials.get_secret(tenant, "github", ada.own)).reveal())
    owners = (
        await app.credentials.resolve_owner(tenant, email=ada.email),
        await app.credentials.resolve_owner(tenant, role="team"),
    )
    said.append(owners == (ada.own, team))
    said.append(await reencrypted(app, tenant, fresh=False))
    said += [await listed(app, ada), await found(app, tenant)]
    (own,) = await app.stored(tenant, "github", ada.own)
    said.append(await app.credentials.mark_broken(tenant, own.id, own.version, "rejected"))
    said.append(await broken_and_due(app, tenant))
    await app.credentials.note_accepted(tenant, own.id, own.version)
    said.append(await broken_and_due(app, tenant))
    await app.credentials.remove(ACTOR, tenant, "notion", team)
    with pytest.raises(Conflict):  # its vendor has to be told
        await app.credentials.remove(ACTOR, tenant, "notion", bob.own)
    said.append([shown(one) for one in await app.stored(tenant)])
    said.append(await keys_of(app, tenant))
    said.append(await count_data_keys(app.trusted, tenant))
    return said


async def broken_and_due(app: BrokerHarness, tenant: UUID) -> int:
    """How many credentials are broken, and asked about again."""
    async with app.database.admin_connection() as admin:
        return await admin.fetchval(
            "SELECT count(*) FROM vault.credentials WHERE tenant_id = $1 AND state = 'broken' AND recheck_at > now()",
            tenant,
        )


class NotingVault(Vault):
    """Counts the data keys that it is told to have in memory."""

    warmed = 0

    async def preload_key(self, work: UnitOfWork, dek_id: UUID) -> None:
        self.warmed += 1
        await super().preload_key(work, dek_id)


async def at_once(_: float) -> None:
    """Instead of a pause: here nobody else has a row in hand."""


async def deployment_of(app: BrokerHarness) -> UUID:
    return await app.trusted.call("SELECT id FROM core.deployment")


async def rewrapped(app: BrokerHarness, tenant: UUID) -> int:
    return await rewrap_keys(app.trusted, NEW, DataKeyRows(await deployment_of(app), tenant), lambda: None)


async def reencrypted(app: BrokerHarness, tenant: UUID, *, fresh: bool) -> list[Any]:
    """What waits before and after, what was done, and what everything opens to with nothing in memory."""
    vault = NotingVault(NEW, await deployment_of(app), clock=app.clock)
    run = Reencryption(app.trusted, vault, NEW, lambda _: None, sleep=at_once)
    waited, done = await run.count_pending(tenant), await run.reencrypt_tenant(tenant, fresh=fresh)
    vault.forget(tenant)
    return [waited, done, vault.warmed, await run.count_pending(tenant), await texts(app, vault, tenant)]


def shown(one: StoredCredential) -> tuple[str, ...]:
    """What is the same in every run."""
    return one.module, one.provider, one.kind, one.owner, one.account, one.state, one.cause


async def listed(app: BrokerHarness, person: Person) -> list[Any]:
    """Pages of what everybody has, and of what a person has or shares."""
    pages: list[Any] = []
    async with app.trusted.tenant(person.tenant_id) as work:
        role_ids = [role_id for role_id, _ in (await load_user_policy(work, person.id)).roles]
        pages.append([role.name for _, role in await load_roles(work, None)])
        for user_id in (None, person.id):
            whose: dict[str, Any] = {
                "everyone": user_id is None,
                "user_id": user_id,
                "role_ids": role_ids if user_id else (),
            }
            page = await list_credentials(work, NO_ORIGINS, **whose, limit=2)
            rest = await list_credentials(work, NO_ORIGINS, **whose, after=page[-1].sort_key, limit=50)
            pages += [[shown(one) for one in page], [shown(one) for one in rest]]
    return pages


async def found(app: BrokerHarness, tenant: UUID) -> list[Any]:
    """Credentials by their ids with what happened to them: the tenant's own, and one of another tenant."""
    ids = [one.id for one in await app.stored(tenant)]
    async with app.database.admin_connection() as admin:
        foreign = await admin.fetchval(
            "SELECT id FROM vault.credentials WHERE tenant_id <> $1 ORDER BY account_id NULLS LAST LIMIT 1", tenant
        )
    async with app.trusted.tenant(tenant) as work:
        answers: list[Any] = [shown(await find_credential(work, NO_ORIGINS, one)) for one in ids]
        try:
            answers.append(await find_credential(work, NO_ORIGINS, foreign or uuid4()))
        except NotFound:
            answers.append(None)
        histories = [await list_account_events(work, one) for one in (*ids, foreign or uuid4())]
    return [*answers, [[event.kind for event in history] for history in histories]]


async def seen(app: BrokerHarness, person: Person) -> list[Any]:
    """What a person is given and shown."""
    status = await app.leases.get_connections(person.token)
    assert not isinstance(status, CredentialRefusal)
    shown: list[Any] = [(one.module, one.state, one.kind, one.account) for one in status.values()]
    for module, tool in (("github", READ), ("github", WRITE), ("notion", "search"), ("notes", "x")):
        answer = await app.leases.lease(person.asks(tool, module=module))
        shown.append(answer.access_token.reveal() if isinstance(answer, Lease) else type(answer))
    return shown


async def enabled(app: BrokerHarness, tenant: UUID) -> list[str]:
    """The tenant's modules, of which one is off that all tenants before it have on."""
    async with app.trusted.tenant(tenant) as work:
        return sorted(await load_enabled_modules(work))


async def keys_of(app: BrokerHarness, tenant: UUID) -> list[Any]:
    async with app.database.admin_connection() as admin:
        return [
            tuple(row)
            for row in await admin.fetch(
                "SELECT state, uses, kek_id, rewrapped FROM vault.deks WHERE tenant_id = $1 ORDER BY created_at", tenant
            )
        ]


async def stored(app: BrokerHarness) -> list[str]:
    """Every row that a missing filter could have changed."""
    async with app.database.admin_connection() as admin:
        return [
            row[0]
            for table in ("vault.deks", "core.generations", *sorted({column.table for column in SEALED_COLUMNS}))
            for row in await admin.fetch(f"SELECT t::text FROM {table} t ORDER BY 1")
        ]


async def outcome(app: BrokerHarness, monkeypatch: pytest.MonkeyPatch, mutator: Mutator) -> tuple[list[Any], bool]:
    """What a story tells, and whether everything older was left alone."""
    before = await stored(app)
    with monkeypatch.context() as patch:
        watched(patch, mutator)
        said = await told(app)
    return said, set(before) <= set(await stored(app))


# Put together from the pieces of f-strings, of which none is a statement: here are the whole ones, for every column.
BUILT = frozenset(
    build(column)
    for build in (
        reencryption._build_batch_query,
        reencryption._build_data_keys_query,
        reencryption._build_pending_query,
        reencryption._build_replace_query,
    )
    for column in SEALED_COLUMNS
)


def sources() -> list[ast.AST]:
    paths = {pattern: list(ROOT.glob(pattern)) for pattern in WRITTEN_IN}
    assert all(paths.values()), f"a file was moved: {[pattern for pattern, found in paths.items() if not found]}"
    trees = (ast.parse(path.read_text("utf-8")) for found in paths.values() for path in found)
    return [node for tree in trees for node in ast.walk(tree)]


def pieces() -> list[ast.Constant]:
    """The texts of f-strings."""
    strings = (node for node in sources() if isinstance(node, ast.JoinedStr))
    return [part for string in strings for part in string.values if isinstance(part, ast.Constant)]


def filtered(nodes: Iterable[ast.AST]) -> set[str]:
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {text for text in texts if FILTER.search(text)}


def written() -> list[str]:
    """Every statement with a filter in the sources."""
    nodes = sources()
    in_pieces = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    return sorted(filtered(node for node in nodes if id(node) not in in_pieces) | BUILT)


def test_every_statement_of_pieces_is_known() -> None:
    assert [piece for piece in filtered(pieces()) if not any(piece in sql for sql in BUILT)] == []


@pytest.mark.guarantee("G9")
@together_and_alone
async def test_each_statement_without_its_filter_shows_and_changes_nothing_more(
    app: BrokerHarness, monkeypatch: pytest.MonkeyPatch, alone: bool
) -> None:
    mutator = Mutator()
    expected, untouched = await outcome(app, monkeypatch, mutator)
    assert untouched
    assert [sql for sql in written() if sql not in mutator.seen] == [], "a statement is missing from the story"
    tell = partial(outcome, app, monkeypatch)
    assert await find_leaks(pair_mutants(written()), tell, (expected, True), alone=alone) == []


# Without its filter such a statement finds the same row: by an id that nobody can give it but for their own tenant.
BY_AN_ID_OF_ITS_OWN = (
    "FROM core.role_assignments a",
    "SELECT id, kek_id, wrapped FROM vault.deks WHERE tenant_id = $1 AND id = $2",
    "SELECT module, user_id, role_id FROM vault.credentials",  # the tenant's own list has none of what it finds
    "user_id = $3 OR role_id = ",
    "c.user_id = $3 OR c.role_id = ANY ($4",
    "UPDATE vault.credentials SET",
    "DELETE FROM vault.accounts a",
    # Rows that the one before has just found in the tenant; by their sealed value, too.
    "UPDATE vault.deks SET kek_id = $5",
    "= $4 WHERE tenant_id = $1 AND id = $2 AND",
)


@pytest.mark.guarantee("G9")
@pytest.mark.long
async def test_without_row_level_security_the_same_mutants_are_noticed(
    database: ScratchDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: the story tells a missing filter from one that is there, if nothing stands behind it."""
    superuser = Database(database.admin)
    await superuser.open()
    async with broker_harness_on(database, superuser) as app:
        for _ in range(2):
            expected = await outcome(app, monkeypatch, Mutator())
        unnoticed = [
            sql
            for sql in written()
            if not await noticed(app, monkeypatch, sql, expected)
            and not any(part in sql for part in BY_AN_ID_OF_ITS_OWN)
        ]
    await superuser.close()
    assert unnoticed == []


async def noticed(
    app: BrokerHarness, monkeypatch: pytest.MonkeyPatch, sql: str, expected: tuple[list[Any], bool]
) -> bool:
    try:
        return await outcome(app, monkeypatch, Mutator({sql: mutants(sql)[-1]})) != expected
    except (asyncpg.PostgresError, MCPistError, ValueError):
        return True
