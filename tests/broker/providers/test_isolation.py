"""Every statement about providers and OAuth clients without its tenant filter: no foreign row is read or changed."""

import ast
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from broker.connections.oauth_client_store import OAuthClientRegistration, OAuthClientStore
from broker.oauth_client.types import OAuthClientConfig
from broker.providers import custom
from broker.providers.catalogue import ProviderRegistry, load_builtin_providers
from broker.providers.custom import CustomProviders
from broker.providers.views import ProviderViews
from broker.vault.credential_store import CredentialOwner
from core.db import Database
from core.errors import Conflict, MCPistError, NotFound
from core.http.outbound_addresses import AllowedAddresses
from core.secret import Secret
from tests.broker.broker_harness import ACTOR, BrokerHarness, broker_harness_on
from tests.broker.sealed_rows import connect
from tests.core.directory.test_isolation import FILTER, mutants, pair_mutants, watched
from tests.support.mutation import Mutator, find_leaks, together_and_alone
from tests.support.postgres import ScratchDatabase

ROOT = Path(__file__).parents[3]
WRITTEN_IN = ("providers/custom.py", "providers/catalogue.py", "connections/oauth_client_store.py")
SLUGS = (f"tenant-{number}" for number in count())
TABLES = ("vault.providers", "vault.oauth_clients", "vault.accounts", "vault.credentials")
HOST = "https://id.acme.example"


def document(title: str) -> dict[str, Any]:
    oauth = {"authorize_url": f"{HOST}/authorize", "token_url": f"{HOST}/token"}
    return {"title": title, "oauth": oauth, "modules": {"github": {}}}


async def told(app: BrokerHarness) -> list[Any]:
    """The story of a tenant that has the same names as all tenants before it."""
    tenant = await app.tenant(next(SLUGS))
    team = await app.role(tenant, "team", allow=["*"])
    ada = await app.person(tenant, "ada@example.test", "team")
    book = ProviderRegistry(load_builtin_providers())
    added = CustomProviders(app.trusted, book, AllowedAddresses(), ["github"])
    shown = ProviderViews(app.trusted, book, added, "https://mcp.test")
    clients = OAuthClientStore(app.trusted, app.vault, book)

    async def seen() -> list[Any]:
        every = [one.title for one in await shown.list_summaries(tenant) if one.origin == "custom"]
        whole = await shown.get_details(tenant, "acme")
        async with app.trusted.tenant(tenant) as work:
            found, held = await book.find(work, "acme"), await book.find_and_lock(work, "acme")
            chosen = await clients.find_for_roles(work, "acme", [team.role_id] if team.role_id else [])
            opened = None if chosen is None else (await clients.decrypt_client(work, chosen)).secret
            having = sorted(await clients.list_registered_providers(work, [team.role_id] if team.role_id else []))
            same = None if chosen is None else await clients.find(work, chosen.id)
        every_client = await clients.list(tenant)
        listed = [(one.client_id, one.role, one.accounts) for one in every_client]
        listed_again = [(await clients.get(tenant, one.id)).client_id for one in every_client]
        client = (chosen and chosen.client_id, opened and opened.reveal(), same == chosen)
        return [
            every,
            whole.title,
            whole.version,
            str(whole.usage),
            found and found.title,
            found == held,
            client,
            having,
            listed,
            listed_again,
        ]

    said: list[Any] = [(await added.put(ACTOR, tenant, "acme", document("One"), None))[1]]
    await added.put(ACTOR, tenant, "acme", document("Two"), 1)
    said += [
        await seen(),
        await clients.add_automatic(ACTOR, tenant, "acme", OAuthClientConfig("own", None, "none"), "document"),
    ]
    said.append(
        await clients.add_automatic(ACTOR, tenant, "acme", OAuthClientConfig("second", None, "none"), "document")
    )
    said.append(await registered(clients, tenant, "by-hand"))
    said.append(await registered(clients, tenant, "of-a-role", team))
    said += [await seen(), await refused(added, tenant)]
    await connect(app, ada, "github")
    said += [[(one.provider, one.accounts) for one in await clients.list(tenant)], await refused(added, tenant)]
    for one in await clients.list(tenant):
        await clients.remove(ACTOR, tenant, one.id)
    said += [await seen(), await refused(added, tenant), await refused(added, tenant)]
    return said


async def registered(
    clients: OAuthClientStore, tenant: UUID, client_id: str, role: CredentialOwner | None = None
) -> bool:
    role_id = None if role is None else role.role_id
    asked = OAuthClientRegistration("acme", client_id, Secret(f"c0x-Lq2vN8rWt5-{client_id}"), role_id)
    made = await clients.register(ACTOR, tenant, asked)
    return made == await clients.register(ACTOR, tenant, asked)


async def refused(added: CustomProviders, tenant: UUID) -> str:
    """What becomes of removing it."""
    try:
        await added.remove(ACTOR, tenant, "acme")
    except (Conflict, NotFound) as problem:
        return str(problem)
    return "removed"


async def stored(app: BrokerHarness) -> set[str]:
    async with app.database.admin_connection() as admin:
        return {row[0] for table in TABLES for row in await admin.fetch(f"SELECT '{table}' || t::text FROM {table} t")}


async def outcome(app: BrokerHarness, monkeypatch: pytest.MonkeyPatch, mutator: Mutator) -> tuple[list[Any], bool]:
    """What a story tells, and whether everything older was left alone."""
    before = await stored(app)
    with monkeypatch.context() as patch:
        patch.setattr(custom, "MAX_CUSTOM_PROVIDERS", 1)
        watched(patch, mutator)
        said = await told(app)
    return said, before <= await stored(app)


async def neighbours(app: BrokerHarness) -> None:
    """Tenants whose providers, clients and accounts stay."""
    for _ in range(2):
        tenant = await app.tenant(next(SLUGS))
        await app.role(tenant, "team", allow=["*"])
        ada = await app.person(tenant, "ada@example.test", "team")
        book = ProviderRegistry(load_builtin_providers())
        added = CustomProviders(app.trusted, book, AllowedAddresses(), ["github"])
        for one in ("acme", "beta"):
            await added.put(ACTOR, tenant, one, document("Another tenant's"), None)
        await registered(OAuthClientStore(app.trusted, app.vault, book), tenant, "foreign")
        await connect(app, ada, "github")


def written() -> list[str]:
    """Every statement with a filter in the sources."""
    trees = (ast.parse((ROOT / "broker" / name).read_text("utf-8")) for name in WRITTEN_IN)
    texts = [node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return sorted({text for text in texts if isinstance(text, str) and FILTER.search(text)})


@together_and_alone
async def test_each_statement_without_its_filter_shows_and_changes_nothing_more(
    app: BrokerHarness, monkeypatch: pytest.MonkeyPatch, alone: bool
) -> None:
    await neighbours(app)
    mutator = Mutator()
    expected, untouched = await outcome(app, monkeypatch, mutator)
    assert untouched
    assert [sql for sql in written() if sql not in mutator.seen] == [], "a statement is missing from the story"
    tell = partial(outcome, app, monkeypatch)
    assert await find_leaks(pair_mutants(written()), tell, (expected, True), alone=alone) == []


# Without its filter such a statement finds the same row: by an id that nobody can give it but for their own tenant.
BY_AN_ID_OF_ITS_OWN = (
    "FROM vault.oauth_clients WHERE tenant_id = $1 AND id = $2",
    "WHERE tenant_id = $1 AND oauth_client_id = $2",
    "DELETE FROM vault.oauth_clients",
)


@pytest.mark.long
async def test_without_row_level_security_the_same_mutants_are_noticed(
    database: ScratchDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: the story tells a missing filter from one that is there, if nothing stands behind it."""
    superuser = Database(database.admin)
    await superuser.open()
    async with broker_harness_on(database, superuser) as app:
        expected = await outcome(app, monkeypatch, Mutator())
        unnoticed = [
            sql
            for sql in written()
            if not await noticed(app, monkeypatch, sql, expected)
            and not any(part in sql for part in BY_AN_ID_OF_ITS_OWN)
        ]
    await superuser.close()
    assert not unnoticed, "\n\n".join(unnoticed)


async def noticed(
    app: BrokerHarness, monkeypatch: pytest.MonkeyPatch, sql: str, expected: tuple[list[Any], bool]
) -> bool:
    await neighbours(app)  # a mutant before has perhaps taken away those that there were
    try:
        return await outcome(app, monkeypatch, Mutator({sql: mutants(sql)[-1]})) != expected
    except (asyncpg.PostgresError, MCPistError, ValueError):
        return True
