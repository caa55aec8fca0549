"""A call with an access token: the same path as with an API token, the same second until a change holds, and no more
questions asked."""

import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from broker.audit_passes import SigningVerifier, load_signer
from broker.authorization_server.access_tokens import AccessTokens
from broker.authorization_server.signing_key_store import MIN_PUBLISHED_TIME, SigningKeyStore
from broker.authorization_server.signing_keys import open_signing_keys
from broker.identity.composite_verifier import CompositeVerifier
from broker.interface import CredentialRefusal, Verifier
from broker.lease_service import LeaseService
from broker.local import LocalBroker
from broker.mandates.mandate_service import MandateService
from broker.tenant_keys.key_kinds import TenantKeyKinds
from broker.tenant_keys.key_leases import TenantKeyLeases
from broker.vault.key_wrapping import InMemoryKeyProvider
from broker.vault.vault import open_vault
from core.audit.event import AuditEventKind
from core.caller import Credential
from core.config.settings import Settings
from core.database_url import DatabaseAddress
from core.db import Database
from core.directory import deletion, tenants
from core.protected_resource import METADATA_PATHS
from core.secret import Secret
from gateway.observability.call_log import CallLog
from gateway.tool_runner import NO_SUCH_TOOL
from server.deployment import KEYS_FOLDER
from server.role_database import BROKER_ROLE, open_role_database
from server.wiring.gateway import open_gateway
from tests.broker.authorization_server.grants import Grant, add_grant, revoke
from tests.broker.broker_harness import FreshAccounts
from tests.path.conftest import People
from tests.support import directory
from tests.support.eventually import within
from tests.support.http_broker import served_over_http
from tests.support.mcp_client import LEGACY, MODERN, Answer
from tests.support.postgres_proxy import PostgresProxy, postgres_proxy
from tests.support.product import ACTOR, Node, Person, Product, over_http

PUBLIC = "http://127.0.0.1:8080"
RESOURCE = f"{PUBLIC}/mcp"
METADATA = f"{PUBLIC}/.well-known/oauth-protected-resource/mcp"
LIFETIME = timedelta(minutes=10)
SECOND = 1.0
REVOKE = "UPDATE auth.grants SET revoked_at = now(), cause = 'test' WHERE tenant_id = $1 AND id = $2"


class Counting:
    """Counts what a gateway asks of whoever verifies."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self.asked = 0

    async def verify(self, token: Secret) -> Credential | CredentialRefusal:
        self.asked += 1
        return await self._verifier.verify(token)

    async def verify_again(self, tenant_id: UUID, tokens: Sequence[Secret]) -> Sequence[Credential | None]:
        self.asked += 1
        return await self._verifier.verify_again(tenant_id, tokens)


@dataclass(slots=True)
class Issuer:
    """The deployment's authorization server, as far as it takes to have tokens."""

    product: Product
    database: Database
    keys: InMemoryKeyProvider
    store: SigningKeyStore
    tokens: AccessTokens

    async def grant(self, person: Person, *scopes: str) -> Grant:
        clock: Any = self.product.clock
        return await add_grant(self.database, clock, person.tenant.id, person.id, *scopes, resource=RESOURCE)

    async def token(self, grant: Grant) -> str:
        token, _ = await self.tokens.mint(grant, self.product.clock())
        return self.product.canary.register(token)

    async def signed_in(self, person: Person, *scopes: str) -> Person:
        """The same person with an access token in the place of an API token."""
        grant = await self.grant(person, *scopes)
        return replace(person, token_id=str(grant.id), token=await self.token(grant))

    async def revoke(self, person: Person) -> None:
        async with self.database.tenant(person.tenant.id) as work:
            await work.execute(REVOKE, UUID(person.token_id))


@contextlib.asynccontextmanager
async def issuing(product: Product, database: Database) -> AsyncIterator[Issuer]:
    keys = InMemoryKeyProvider("k1", {"k1": b"k" * 32})
    signing, store = await open_signing_keys(database, keys, clock=product.clock)
    tokens = AccessTokens(signing, database, issuer=PUBLIC, resource=RESOURCE, lifetime=LIFETIME, clock=product.clock)
    yield Issuer(product, database, keys, store, tokens)


@pytest.fixture
async def issuer(product: Product) -> AsyncIterator[Issuer]:
    async with (
        open_role_database(product.deployment, BROKER_ROLE, max_connections=3) as database,
        issuing(product, database) as issuer,
    ):
        yield issuer


@dataclass(slots=True)
class Gate:
    """A gateway with a broker of its own, which shares nothing with another but the database."""

    node: Node
    verifier: Counting


@contextlib.asynccontextmanager
async def gate_of(product: Product, *, through: DatabaseAddress | None = None) -> AsyncIterator[Gate]:
    deployment = replace(product.deployment, admin=through or product.deployment.admin)
    call_log = CallLog(lambda block: product.canary.hear("call log", block), clock=time.time)
    async with (
        open_role_database(deployment, BROKER_ROLE, max_connections=5) as database,
        issuing(product, database) as own,
    ):
        verifier = Counting(CompositeVerifier(product.tokens, own.tokens))
        vault = await open_vault(database, own.keys, clock=product.clock)
        signing = SigningVerifier(verifier, await load_signer(database))
        mandates = MandateService(signing, database, {}, clock=product.clock)
        leases = LeaseService(
            verifier,
            database,
            vault,
            {},
            base_urls={},
            clock=product.clock,
            accounts=FreshAccounts(),
            mandates=mandates,
        )
        keys = TenantKeyLeases(verifier, mandates, database, vault, TenantKeyKinds())
        broker = LocalBroker(signing, leases, mandates, keys)
        settings = Settings(home=deployment.home, public_url=PUBLIC)
        reached = _reached(broker, product)
        async with open_gateway(settings, deployment, reached, product.catalogue, call_log) as running:
            yield Gate(Node(running, product.canary), verifier)
    call_log.close()


@contextlib.asynccontextmanager
async def _reached(broker: LocalBroker, product: Product) -> AsyncIterator[Any]:
    if not over_http():
        yield broker
        return
    async with served_over_http(broker, product.deployment.home / KEYS_FOLDER) as served:
        yield served.client


@pytest.fixture
async def gates(product: Product, issuer: Issuer) -> AsyncIterator[tuple[Gate, Gate]]:
    async with gate_of(product) as first, gate_of(product) as second:
        yield first, second


# A call ----------------------------------------------------------------------------------------------------------


async def test_it_works_in_every_revision(issuer: Issuer, gates: tuple[Gate, Gate], people: People) -> None:
    admin = await issuer.signed_in(people.admin)
    for revision in (*LEGACY, MODERN):
        for gate in gates:
            listed = await gate.node.post(admin.token, "tools/list", revision=revision)
            assert len(listed.result["tools"]) == 3
            written = await gate.node.call(admin.token, "lab", "write", {"text": "x"}, revision=revision)
            assert not written.failed
    assert [gate.verifier.asked for gate in gates] == [1, 1]


async def test_the_audit_log_names_the_grant(
    product: Product, issuer: Issuer, gates: tuple[Gate, Gate], people: People
) -> None:
    admin = await issuer.signed_in(people.admin)
    await gates[0].node.call(admin.token, "lab", "look")
    (intent,) = await product.events(admin.tenant, AuditEventKind.CALL_INTENT)
    assert (intent.credential_id, intent.user_id) == (admin.token_id, admin.id)


@pytest.mark.guarantee("G13")
async def test_roles_decide_what_exists_and_scopes_decide_403(
    issuer: Issuer, gates: tuple[Gate, Gate], people: People
) -> None:
    node = gates[0].node
    reading = await issuer.signed_in(people.admin, "mcp:read")
    assert (await node.call(reading.token, "lab", "look")).value == {"said": ""}
    refused = await node.call(reading.token, "lab", "write", {"text": "x"})
    assert refused.status == 403
    assert challenge(refused) == {
        "realm": "mcpist",
        "error": "insufficient_scope",
        "scope": "mcp:write",
        "error_description": "this needs the scope mcp:write",
        "resource_metadata": METADATA,
    }
    hidden = await issuer.signed_in(people.reader, "mcp:read")
    assert (await node.call(hidden.token, "lab", "write", {"text": "x"})).text == NO_SUCH_TOOL
    assert (await node.call(hidden.token, "lab", "made_up")).text == NO_SUCH_TOOL


async def test_a_batch_names_all_that_it_needs(issuer: Issuer, gates: tuple[Gate, Gate], people: People) -> None:
    """So that a client steps up once."""
    none = await issuer.signed_in(people.admin, "admin:read")
    steps = [
        {"id": "a", "module": "lab", "tool_name": "look", "params": {}},
        {"id": "b", "module": "lab", "tool_name": "write", "params": {"text": "x"}},
    ]
    refused = await gates[0].node.tool(none.token, "batch", {"commands": steps})
    assert refused.status == 403
    assert challenge(refused)["scope"] == "mcp:read mcp:write"


def challenge(answer: Answer) -> Mapping[str, str]:
    """The parameters of a Bearer challenge; ours never have a comma or a quote inside."""
    scheme, _, parameters = answer.header("www-authenticate").partition(" ")
    assert scheme == "Bearer"
    pairs = (one.partition("=") for one in parameters.split(", "))
    return {name: value.strip('"') for name, _, value in pairs}


@pytest.mark.parametrize("authorization", [None, "Bearer hunter2", "Bearer a.b.c", "Basic eDp5"])
async def test_every_401_says_where_to_get_a_token(gates: tuple[Gate, Gate], authorization: str | None) -> None:
    headers = {} if authorization is None else {"authorization": authorization}
    refused = await gates[0].node.post(None, "ping", headers=headers)
    assert refused.status == 401
    said = dict(challenge(refused))
    assert said.pop("error", None) == (None if authorization is None else "invalid_token")
    assert said == {"realm": "mcpist", "scope": "mcp:read mcp:write", "resource_metadata": METADATA}


@pytest.mark.parametrize("path", METADATA_PATHS)
async def test_the_metadata_are_where_the_challenge_says(gates: tuple[Gate, Gate], path: str) -> None:
    async with gates[0].node._http("127.0.0.1") as http:  # pyright: ignore[reportPrivateUsage]
        found = await http.get(path, headers={"origin": "https://inspector.example"})
    assert found.status_code == 200
    assert found.json()["resource"] == RESOURCE
    assert found.json()["authorization_servers"] == [PUBLIC]
    assert found.headers["access-control-allow-origin"] == "*"


# Nothing is asked twice ------------------------------------------------------------------------------------------


@pytest.fixture
async def proxy(product: Product) -> AsyncIterator[PostgresProxy]:
    async with postgres_proxy(product.deployment.admin) as proxy:
        yield proxy


async def test_a_token_seen_before_costs_no_statement_and_no_signature(
    product: Product, issuer: Issuer, people: People, proxy: PostgresProxy
) -> None:
    admin = await issuer.signed_in(people.admin)
    async with gate_of(product, through=proxy.address) as gate:
        await gate.node.post(admin.token, "ping")
        proxy.statements.clear()
        for _ in range(50):
            assert (await gate.node.post(admin.token, "ping")).status == 200
        assert [sent for sent in proxy.statements if sent.sql != "SELECT 1"] == []
        assert gate.verifier.asked == 1


async def test_what_has_no_form_of_a_token_costs_no_statement(
    product: Product, issuer: Issuer, people: People, proxy: PostgresProxy
) -> None:
    admin = await issuer.signed_in(people.admin)
    async with gate_of(product, through=proxy.address) as gate:
        assert (await gate.node.post(admin.token, "ping")).status == 200
        proxy.statements.clear()
        for text in ("a.b", "a.b.", "a.b.c.d", "a.b.c=", "a.b." + "c" * 9_000):
            assert (await gate.node.post(text, "ping")).status == 401
        assert [sent for sent in proxy.statements if sent.sql != "SELECT 1"] == []
        assert gate.verifier.asked == 1


async def test_after_its_expiry_nobody_is_asked_either(
    product: Product, issuer: Issuer, gates: tuple[Gate, Gate], people: People
) -> None:
    """Clients notice by the 401 that they have to refresh: that is no attack, and costs nothing."""
    issuer.tokens = AccessTokens(
        issuer.tokens._keys,  # pyright: ignore[reportPrivateUsage]
        issuer.database, issuer=PUBLIC, resource=RESOURCE, lifetime=timedelta(seconds=2), clock=product.clock,
    )  # fmt: skip
    admin, node = await issuer.signed_in(people.admin), gates[0].node
    assert (await node.post(admin.token, "ping")).status == 200

    async def over() -> bool:
        return (await node.post(admin.token, "ping")).status == 401

    await within(3, over)
    for _ in range(100):
        assert (await node.post(admin.token, "ping")).status == 401, "and never 429"
    assert gates[0].verifier.asked == 1
    assert await product.events(admin.tenant, AuditEventKind.AUTH_REFUSED) == []


# What ends it, on every gateway within a second ------------------------------------------------------------------


Change = Callable[[Issuer, Person], Awaitable[None]]


async def revoke_grant(issuer: Issuer, person: Person) -> None:
    await issuer.revoke(person)


async def suspend_user(issuer: Issuer, person: Person) -> None:
    await directory.set_status(issuer.product.console, ACTOR, person.tenant.id, person.email, "suspended")


async def suspend_tenant(issuer: Issuer, person: Person) -> None:
    await tenants.set_status(issuer.product.console, ACTOR, person.tenant.id, "suspended")


async def remove_tenant(issuer: Issuer, person: Person) -> None:
    await deletion.remove_tenant(issuer.product.console, ACTOR, person.tenant.id, person.tenant.slug)


async def take_permission(issuer: Issuer, person: Person) -> None:
    await directory.revoke(issuer.product.console, ACTOR, person.tenant.id, person.email, "*")


@pytest.mark.parametrize("change", [revoke_grant, suspend_user, suspend_tenant, remove_tenant, take_permission])
async def test_a_change_holds_on_both(issuer: Issuer, gates: tuple[Gate, Gate], people: People, change: Change) -> None:
    admin, other = await issuer.signed_in(people.admin), await issuer.signed_in(people.other_admin)
    for gate in gates:
        for person in (admin, other):
            assert (await gate.node.call(person.token, "lab", "look")).value == {"said": ""}
    await change(issuer, admin)
    for gate in gates:

        async def lost(node: Node = gate.node) -> bool:
            answer = await node.call(admin.token, "lab", "look")
            return answer.text == NO_SUCH_TOOL if change is take_permission else answer.status == 401

        await within(SECOND, lost)
        assert (await gate.node.call(other.token, "lab", "look")).value == {"said": ""}


async def test_another_token_of_a_revoked_grant_is_refused_too(
    product: Product, issuer: Issuer, gates: tuple[Gate, Gate], people: People
) -> None:
    grant = await issuer.grant(people.admin)
    first, second = await issuer.token(grant), await issuer.token(grant)
    assert (await gates[0].node.post(first, "ping")).status == 200
    clock: Any = product.clock
    await revoke(issuer.database, clock, grant)
    assert (await gates[1].node.post(second, "ping")).status == 401
    (event,) = await product.events(people.acme, AuditEventKind.AUTH_REFUSED)
    assert (event.detail or {})["reason"] == "revoked"
    assert event.credential_id == str(grant.id)


async def test_a_rotation_of_the_keys_is_not_noticed(
    product: Product, issuer: Issuer, gates: tuple[Gate, Gate], people: People
) -> None:
    before = await issuer.signed_in(people.admin)
    assert (await gates[0].node.post(before.token, "ping")).status == 200
    product.clock.ahead = MIN_PUBLISHED_TIME
    await issuer.store.rotate(ACTOR)
    async with issuing(product, issuer.database) as fresh:  # a process that has just been started
        after = await fresh.signed_in(people.admin)
        for gate in gates:
            assert (await gate.node.post(after.token, "ping")).status == 200
            assert (await gate.node.post(before.token, "ping")).status == 200


async def test_what_keys_have_signed_that_others_may_know_is_over_on_both(
    product: Product, issuer: Issuer, gates: tuple[Gate, Gate], people: People
) -> None:
    """Of every tenant, though both gateways have seen the tokens, and both brokers the keys, a moment before."""
    signed_in = [await issuer.signed_in(person) for person in (people.admin, people.other_admin)]
    for gate in gates:
        for person in signed_in:
            assert (await gate.node.post(person.token, "ping")).status == 200
    asked = [gate.verifier.asked for gate in gates]
    await issuer.store.replace_all(ACTOR)
    for gate in gates:
        for person in signed_in:

            async def over(node: Node = gate.node, token: str = person.token) -> bool:
                return (await node.post(token, "ping")).status == 401

            await within(SECOND, over)
    assert all(gate.verifier.asked > before for gate, before in zip(gates, asked, strict=True))
    again = [await issuer.signed_in(person) for person in (people.admin, people.other_admin)]  # it signed before
    for gate in gates:
        for person in again:
            assert (await gate.node.post(person.token, "ping")).status == 200
        assert (await gate.node.post(people.reader.token, "ping")).status == 200, "API tokens go on"
