"""What a refresh is to gateways: nothing, but where the vendor ends the token before; a revocation is everything."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, LiteralString
from uuid import UUID, uuid4

import pytest

from broker.connections.account_repository import AccountGrant, replace_grant
from broker.interface import CredentialRefusal, Lease, LeaseRequest, NoCredential
from broker.oauth_client.types import ErrorClass, OAuthClientConfig, TokenSet
from broker.providers.schema import Provider, RefreshRules
from broker.vault.credential_store import CredentialOwner
from core.audit.failed_auth import AuthFailureLog
from core.audit.passes import AuditPasses
from core.audit.writer import AuditWriter
from core.caller import Caller, Credential
from core.concurrency.rate_limits import AttemptLimits
from core.connection_state import ModuleConnection
from core.generations import Generations
from core.observability.metrics import Metrics
from core.permissions import Policy
from core.secret import Secret
from core.token_format import generate_token
from gateway.auth.authenticator import CallerAuthenticator
from gateway.catalogue import build_catalogue
from gateway.connection_messages import ConnectMessages
from gateway.lease_cache import CachedLease, LeaseCache
from gateway.mcp.authority import Authority
from gateway.mcp.request_context import RequestContext
from tests.broker.refresh.endpoints import Scripted, failed
from tests.broker.refresh.refresh_app import FixedProviders, RefreshApp
from tests.broker.refresh.vendor import HOUR
from tests.support.eventually import within
from tests.support.toy_vendor import shop_module

URLS = {"authorize_url": "https://vendor.test/authorize", "token_url": "https://vendor.test/token"}
CLIENT = OAuthClientConfig("client", Secret("cs-000006-made-up"))
TOOL = next(
    one for one in build_catalogue([shop_module("http://127.0.0.1:1")]).tools["shop"] if one.tool.name == "look"
)


def provider(*, late: bool = False) -> Provider:
    document = {"id": "vendor", "title": "Vendor", "oauth": {**URLS, "refresh": {"late": late}}}
    return Provider.model_validate(document)


class CountingBroker:
    """Vouches for one credential, and leases what the vault has of an account; it counts how often it was asked."""

    def __init__(self, app: RefreshApp) -> None:
        self.app = app
        self.credential = Credential("a", "api_token", app.tenant.id, app.tenant.users[0], frozenset({"mcp:read"}))
        self.verified = 0
        self.leased = 0
        self.account: UUID | None = None

    async def verify(self, token: Secret) -> Credential | CredentialRefusal:
        self.verified += 1
        return replace(self.credential, generation=await self.generation())

    async def verify_again(self, tenant_id: UUID, tokens: Sequence[Secret]) -> Sequence[Credential | None]:
        raise NotImplementedError

    async def generation(self) -> int:
        async with self.app.scratch.admin_connection() as admin:
            return await admin.fetchval("SELECT value FROM core.generations WHERE tenant_id = $1", self.app.tenant.id)

    async def get_connections(self, subject: Secret) -> Mapping[str, ModuleConnection] | CredentialRefusal:
        raise NotImplementedError

    async def lease(self, request: LeaseRequest) -> Lease | NoCredential | CredentialRefusal:
        self.leased += 1
        assert self.account is not None
        version = (await self.app.row(self.account))["version"]
        return Lease(Secret("at-00000001-leased"), version, 60.0, "personal", uuid4(), {})


@dataclass
class Gateway:
    """What one gateway has cached of a tenant."""

    app: RefreshApp
    broker: CountingBroker
    generations: Generations
    authenticate: CallerAuthenticator
    leases: LeaseCache
    header: str

    async def call(self) -> CachedLease:
        """A call of the tenant's person."""
        await self.authenticate(self.header, "192.0.2.1")
        caller = Caller(self.broker.credential, "ada@acme.test", "user", Policy((), frozenset()))
        deadline = asyncio.get_running_loop().time() + 5
        return await self.leases.get_lease(
            RequestContext(Authority(caller), "r", deadline, find_subject=lambda: Secret("mcpist_made-up")), TOOL
        )

    @property
    def asked(self) -> tuple[int, int]:
        return self.broker.verified, self.broker.leased

    async def announced(self) -> None:
        """Until everything that was announced so far has arrived: what comes after it has."""
        async with self.app.scratch.admin_connection() as admin:
            marker = uuid4().int >> 80
            await admin.execute("SELECT pg_notify('mcpist_dropped', $1)", f"{self.app.tenant.id} {marker}")

        async def here() -> bool:
            return self.generations.is_dropped(self.app.tenant.id, marker)

        assert await within(5, here) < 1

    async def link(self, of: Provider, number: int = 0) -> UUID:
        tokens = TokenSet(Secret(f"at-{number:08}-quiet"), Secret(f"rt-{number:08}-quiet"), float(HOUR), None)
        return await self.app.link(of, CLIENT, tokens)

    async def refresh(self, of: Provider, *accounts: UUID, answers: tuple[Any, ...] = ()) -> None:
        broker = self.app.another(endpoint=Scripted(*answers), providers=FixedProviders([of]))
        for account in accounts:
            await broker.refresh(self.app.tenant.id, account)


@pytest.fixture
async def gateway(app: RefreshApp) -> AsyncIterator[Gateway]:
    async with app.scratch.open("mcpist_gateway") as database:
        generations = Generations(app.scratch.as_role("mcpist_gateway"), database)
        audit, broker = AuditWriter(database), CountingBroker(app)
        refusals = AuthFailureLog(audit, AttemptLimits(3, 3, clock=time.time), Metrics())
        authenticate = CallerAuthenticator(broker, database, generations, refusals, AuditPasses())
        leases = LeaseCache(broker, generations, ConnectMessages("https://mcpist.test"))
        listening = asyncio.create_task(generations.run())
        await generations.wait_until_trusted(5)
        yield Gateway(app, broker, generations, authenticate, leases, f"Bearer {generate_token()[1].reveal()}")
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def test_a_hundred_refreshes_in_a_tenant_cost_a_caller_no_question(gateway: Gateway) -> None:
    quiet = provider()
    gateway.broker.account = await gateway.link(quiet)
    others = [await gateway.link(quiet, number) for number in range(1, 20)]
    await gateway.announced()
    await gateway.call()
    before = gateway.asked
    for _ in range(5):
        await gateway.refresh(quiet, gateway.broker.account, *others)
        await gateway.call()
    await gateway.announced()
    await gateway.call()
    assert gateway.asked == before
    assert (await gateway.app.row(gateway.broker.account))["refreshed_at"] is not None


async def test_where_the_old_token_ends_at_once_its_leases_go_and_no_others(gateway: Gateway) -> None:
    github = provider(late=True)
    gateway.broker.account = await gateway.link(github)
    others = [await gateway.link(github, number) for number in range(1, 10)]
    await gateway.announced()
    before = await gateway.call()
    asked = gateway.asked
    await gateway.refresh(github, *others)
    await gateway.announced()
    assert await gateway.call() is before
    assert gateway.asked == asked
    await gateway.refresh(github, gateway.broker.account)
    await gateway.announced()
    assert (await gateway.call()).version == before.version + 1
    assert gateway.asked == (asked[0], asked[1] + 1), "its lease, and nobody's verification"
    await gateway.call()
    assert gateway.asked == (asked[0], asked[1] + 1)


async def changed(gateway: Gateway, held: CachedLease) -> bool:
    asked = gateway.broker.leased
    again = await gateway.call()
    return gateway.broker.leased > asked and again is not held


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE vault.accounts SET status = 'disabled', reason = 'by_admin'",
        "UPDATE vault.accounts SET scopes = '{less}'",
        "UPDATE vault.accounts SET account = 'another'",
        "UPDATE vault.accounts SET vendor_account_id = 'another'",
        'UPDATE vault.accounts SET details = \'{"site": "another"}\'',
        "UPDATE vault.oauth_clients SET state = 'misconfigured', cause = 'client_refused'",
        'UPDATE vault.oauth_clients SET settings = \'{"a": "b"}\'',
        "DELETE FROM vault.accounts WHERE tenant_id = $1 AND created_at > (SELECT min(created_at) FROM vault.accounts)",
    ],
)
async def test_what_takes_something_away_counts_within_a_second(gateway: Gateway, change: LiteralString) -> None:
    gateway.broker.account = await gateway.link(provider())
    await gateway.link(provider(), 1)
    await gateway.announced()
    held = await gateway.call()
    async with gateway.app.database.tenant(gateway.app.tenant.id) as work:
        await work.execute(change if "WHERE" in change else f"{change} WHERE tenant_id = $1")
    assert await within(5, lambda: changed(gateway, held)) < 1


async def test_a_refused_refresh_and_a_new_grant_count_within_a_second(gateway: Gateway) -> None:
    quiet = provider()
    account = gateway.broker.account = await gateway.link(quiet)
    await gateway.announced()
    held = await gateway.call()
    await gateway.refresh(quiet, account, answers=(failed(ErrorClass.PERMANENT),))
    assert (await gateway.app.row(account))["status"] == "needs_reauth"
    assert await within(5, lambda: changed(gateway, held)) < 1
    held = await gateway.call()
    async with gateway.app.database.tenant(gateway.app.tenant.id) as work:
        owner, client = CredentialOwner("personal", gateway.app.tenant.users[0]), gateway.app.clients[quiet.id]
        tokens = TokenSet(Secret("at-00000009-quiet"), Secret("rt-00000009-quiet"), float(HOUR), None)
        await replace_grant(
            work, gateway.app.vault, account, AccountGrant(quiet.id, client, owner, tokens, RefreshRules())
        )
    assert await within(5, lambda: changed(gateway, held)) < 1
    held = await gateway.call()
    async with gateway.app.database.tenant(gateway.app.tenant.id) as work:
        tokens = TokenSet(Secret("at-00000010-quiet"), Secret("rt-00000010-quiet"), float(HOUR), None)
        await replace_grant(
            work, gateway.app.vault, account, AccountGrant(quiet.id, client, owner, tokens, RefreshRules())
        )
    assert await within(5, lambda: changed(gateway, held)) < 1, "of the same account with the same rights, too"


async def test_an_oauth_client_that_is_refused_again_and_again_flushes_once(gateway: Gateway) -> None:
    quiet = provider()
    account = gateway.broker.account = await gateway.link(quiet)

    before = await gateway.broker.generation()
    for hour in (1, 2, 3):
        await gateway.app.ahead(hour * HOUR)
        await gateway.refresh(quiet, account, answers=(failed(ErrorClass.SERVICE, "client_refused"),))
    assert (await gateway.app.client_row(quiet.id))["breaker_failures"] == 3
    assert await gateway.broker.generation() == before + 1
