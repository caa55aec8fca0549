"""Leases of linked accounts: what the gateway gets of them, and what it is told where there is nothing to get."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from uuid import UUID, uuid4

import pytest

from broker.connections.account_repository import AccountGrant, insert_account, insert_client
from broker.interface import CredentialRefusal, Lease, NoCredential
from broker.lease_service import LeaseService
from broker.oauth_client.types import ErrorClass, OAuthClientConfig, TokenSet
from broker.providers.schema import Provider
from broker.refresh.decision import RefreshTiming
from broker.refresh.outcome import boottime
from broker.refresh.outcome_writer import OutcomeWriter
from broker.refresh.refresher import RefreshDependencies
from broker.refresh.token_service import AccountTokenService
from core.connection_state import ConnectionState, ModuleConnection
from core.secret import Secret
from tests.broker.broker_harness import BASE_URLS, TOOL_HINTS, BrokerHarness, Person, broker_harness_on
from tests.broker.refresh.endpoints import Scripted, failed
from tests.broker.refresh.refresh_app import FixedProviders
from tests.support.postgres import ScratchDatabase

OAUTH = {"authorize_url": "https://vendor.test/authorize", "token_url": "https://vendor.test/token"}
PROVIDER = Provider.model_validate({"id": "vendor", "title": "Vendor", "oauth": OAUTH})
LIFE = 3600.0


@dataclass(frozen=True, slots=True)
class LeasesApp:
    """A world whose broker has linked accounts."""

    app: BrokerHarness
    leases: LeaseService
    endpoint: Scripted
    ada: Person

    async def connect(self, *modules: str, expires_in: float | None = LIFE) -> UUID:
        """Ada connects an account that stands behind these modules."""
        oauth = PROVIDER.oauth
        assert oauth is not None
        tokens = TokenSet(Secret("at-00000001-granted"), Secret("rt-00000001-granted"), expires_in, None)
        async with self.app.trusted.tenant(self.ada.tenant_id) as work:
            client = OAuthClientConfig("client", Secret("cs-00000003-of-the-client"))
            client_id = await insert_client(work, self.app.vault, "vendor", client)
            grant = AccountGrant("vendor", client_id, self.ada.own, tokens, oauth.refresh, account="ada at Vendor")
            account = await insert_account(work, self.app.vault, grant)
            for module in modules:
                await work.execute(_CREDENTIAL, uuid4(), module, self.ada.id, account)
        return account

    async def version(self, account: UUID) -> int:
        async with self.app.database.admin_connection() as admin:
            return await admin.fetchval("SELECT version FROM vault.accounts WHERE id = $1", account)

    async def ahead(self, seconds: float) -> None:
        await self.app.execute(
            "CREATE OR REPLACE FUNCTION vault.clock() RETURNS timestamptz LANGUAGE sql VOLATILE "
            f"RETURN clock_timestamp() + interval '{seconds} seconds'"
        )

    async def lease(self, **options: object) -> Lease | NoCredential | CredentialRefusal:
        return await self.leases.lease(self.ada.asks(**options))  # type: ignore[arg-type]

    async def leased(self, **options: object) -> Lease:
        answer = await self.lease(**options)
        assert isinstance(answer, Lease), answer
        return answer


@pytest.fixture
async def app(database: ScratchDatabase) -> AsyncIterator[LeasesApp]:
    async with broker_harness_on(database) as broker:
        tenant = await broker.tenant("acme")
        await broker.role(tenant, "all", allow=["*"])
        ada = await broker.person(tenant, "ada@example.test", "all")
        timing, endpoint = RefreshTiming(), Scripted()
        settler = OutcomeWriter(broker.trusted, broker.vault, None, timing, boottime)
        tools = RefreshDependencies(broker.trusted, broker.vault, FixedProviders([PROVIDER]), endpoint, settler, timing)
        leases = LeaseService(
            broker.tokens,
            broker.trusted,
            broker.vault,
            TOOL_HINTS,
            base_urls=BASE_URLS,
            clock=broker.clock,
            accounts=AccountTokenService(tools),
            mandates=broker.mandate_service,
        )
        yield LeasesApp(broker, leases, endpoint, ada)


async def test_one_account_behind_two_modules_is_one_token(app: LeasesApp) -> None:
    account = await app.connect("github", "notion")
    one, other = await app.leased(), await app.leased(tool="search", module="notion")
    assert one.access_token.reveal() == other.access_token.reveal() == "at-00000001-granted"
    assert one.version == other.version == await app.version(account)
    assert (one.expires_in, one.kind) == (60.0, "personal")
    await app.ahead(LIFE)
    one, other = await app.leased(), await app.leased(tool="search", module="notion")
    assert one.version == other.version
    assert len(app.endpoint.shown) == 1


async def test_a_lease_ends_half_a_minute_before_its_token(app: LeasesApp) -> None:
    await app.connect("github")
    await app.ahead(LIFE - 70)
    assert (await app.leased()).expires_in == pytest.approx(40, abs=2)
    app.endpoint.answers = [failed(ErrorClass.NOT_SENT, "connect")]
    await app.ahead(LIFE - 20)
    assert (await app.leased()).expires_in == 0.0


async def test_a_token_without_an_end_is_leased_for_a_minute(app: LeasesApp) -> None:
    await app.connect("github", expires_in=None)
    assert (await app.leased()).expires_in == 60.0


async def test_what_the_vendor_refuses_is_refreshed(app: LeasesApp) -> None:
    await app.connect("github")
    before = await app.leased()
    after = await app.leased(rejected=before.version)
    assert after.version == before.version + 1
    assert (await app.lease(rejected=after.version)) == NoCredential(
        "github",
        "broken",
        "personal",
        "refused",
        pytest.approx(10, abs=2),  # type: ignore[arg-type]
    )


async def test_the_gateway_is_told_what_is_wrong(app: LeasesApp) -> None:
    await app.connect("github")
    await app.ahead(LIFE)
    app.endpoint.answers = [failed(ErrorClass.THROTTLED, "unavailable", 120.0)]
    answer = await app.lease()
    assert isinstance(answer, NoCredential)
    assert (answer.reason, answer.cause) == ("broken", "vendor")
    assert answer.retry_after == pytest.approx(120, abs=2)
    await app.ahead(LIFE + 130)
    app.endpoint.answers = [failed(ErrorClass.PERMANENT, "revoked")]
    assert await app.lease() == NoCredential("github", "broken", "personal", "revoked")
    assert await app.lease() == NoCredential("github", "broken", "personal", "revoked")


async def test_how_it_stands(app: LeasesApp) -> None:
    account = await app.connect("github")

    async def stands() -> ModuleConnection:
        answer = await app.leases.get_connections(app.ada.token)
        assert not isinstance(answer, CredentialRefusal)
        return answer["github"]

    version = await app.version(account)
    connected = ModuleConnection("github", ConnectionState.CONNECTED, "personal", "", "ada at Vendor", version)
    assert await stands() == connected
    generation = await app.app.generation(app.ada.tenant_id)
    await app.ahead(LIFE)
    app.endpoint.answers = [failed(ErrorClass.PERMANENT, "account_disabled")]
    await app.lease()
    broken = ModuleConnection(
        "github", ConnectionState.BROKEN, "personal", "account_disabled", "ada at Vendor", version
    )
    assert await stands() == broken
    assert await app.app.generation(app.ada.tenant_id) == generation + 1


async def test_neither_a_lease_nor_a_refresh_raises_a_generation(app: LeasesApp) -> None:
    account = await app.connect("github")
    before = await app.version(account)
    generation = await app.app.generation(app.ada.tenant_id)
    app.endpoint.answers = [failed(ErrorClass.NOT_SENT, "connect")]
    await app.ahead(LIFE - 40)
    await app.leased()
    assert await app.app.generation(app.ada.tenant_id) == generation
    await app.ahead(LIFE + 400)
    assert (await app.leased()).version == before + 1
    assert await app.app.generation(app.ada.tenant_id) == generation


@pytest.mark.guarantee("G6")
async def test_no_answer_holds_what_must_not_leave_the_broker(app: LeasesApp) -> None:
    """G6, for accounts: a lease has the access token, and nothing at all of the rest."""
    await app.connect("github")
    answer = await app.leased()
    told = f"{answer!r} {answer.access_token.reveal()} {answer.settings}"
    assert "rt-00000001" not in told
    assert "the secret of the client" not in told


_CREDENTIAL = """INSERT INTO vault.credentials
    (tenant_id, id, module, user_id, type, version, account_id, created_at, updated_at)
    VALUES ($1, $2, $3, $4, 'B', 1, $5, now(), now())"""
