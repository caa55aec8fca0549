"""Something in every sealed column of a tenant, as the product puts it there; and what is in them."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

from broker.audit_streams.collector import Collector
from broker.audit_streams.stream_settings import AuditStreams, StreamChange
from broker.connect.account_writer import AccountWriter
from broker.connect.flow_store import ConnectFlowStore, NewConnectFlow
from broker.connections.account_repository import AccountGrant, insert_account, insert_client
from broker.connections.account_snapshot import (
    ACCESS_FIELD,
    REFRESH_FIELD,
    AccountRef,
    build_candidate_context,
    load_snapshot,
)
from broker.identity.browser_sessions import Session, Sessions
from broker.oauth_client.types import OAuthClientConfig, TokenSet
from broker.oauth_client.vendor_http import VendorHttpClient
from broker.providers.schema import RefreshRules
from broker.refresh.outcome import RefreshOutcome, StoreResult, store
from broker.vault.reencryption import SEALED_COLUMNS
from broker.vault.vault import Vault
from core.db import UnitOfWork
from core.directory.audit_trail import Actor
from core.http.outbound_addresses import AllowedAddresses
from core.secret import Secret
from tests.broker.broker_harness import BrokerHarness, Person

VENDOR = "vendor"
STREAM_SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
NO_ADDRESSES = AllowedAddresses.from_hosts(())


async def connect(app: BrokerHarness, person: Person, module: str) -> None:
    """An account (type B) behind a person's `module`, an answer for it that came late, and a flow under way."""
    session = await signed_in(app, person)
    async with app.trusted.tenant(person.tenant_id) as work:
        client = OAuthClientConfig("client", Secret("client-secret"))
        client_id = await insert_client(work, app.vault, VENDOR, client)
        tokens = TokenSet(Secret("access-b"), Secret("refresh-b"), 3600.0, None)
        account = await insert_account(
            work, app.vault, AccountGrant(VENDOR, client_id, person.own, tokens, RefreshRules())
        )
        await AccountWriter(app.vault).link_credentials(
            work, {module: ("https://api.vendor.test",)}, person.own, account, person.email
        )
        await come_late(app, work, AccountRef(person.tenant_id, account))
        asked = NewConnectFlow(VENDOR, client_id, (module,), None, account, "", (), "https://mcpist.test/callback", "/")
        await ConnectFlowStore(app.trusted, app.vault, clock=app.clock).begin(work, session, asked, pkce=True)

    await stream(app, person.tenant_id)
    await app.tenant_keys.put(Actor("tests"), person.tenant_id, "voyage", Secret("pa-of-the-tenant"))


async def stream(app: BrokerHarness, tenant_id: UUID) -> None:
    """A stream of the audit log, switched off: nothing is posted."""
    streams = AuditStreams(app.trusted, app.vault, Collector(VendorHttpClient(NO_ADDRESSES)), clock=app.clock)
    change = StreamChange("https://logs.test/", Secret(STREAM_SECRET), enabled=False)
    await streams.put(Actor("tests"), tenant_id, change)


async def signed_in(app: BrokerHarness, person: Person) -> Session:
    # A cookie is looked up past the tenants, by policies of the broker's role: `trusted` may be another.
    sessions = Sessions(app.tokens._database, clock=app.clock)
    session = await sessions.find(await sessions.begin(person.tenant_id, person.id, "link"))
    assert session is not None
    return session


async def come_late(app: BrokerHarness, work: UnitOfWork, ref: AccountRef) -> None:
    """What a refresh brought that somebody else has been faster than: a candidate."""
    seen = await load_snapshot(work, ref.id)
    assert seen is not None
    version = seen.version - 1
    seal, candidate = (await app.vault.get_sealer(work)).seal, uuid4()
    access = seal(build_candidate_context(candidate, ACCESS_FIELD, version), b"access-late")
    refresh = seal(build_candidate_context(candidate, REFRESH_FIELD, version), b"refresh-late")
    ends = datetime.now(UTC)
    late = RefreshOutcome(ref, version, uuid4(), 1, access, refresh, ends, None, None, None, candidate, access, refresh)
    assert await store(work, late) is StoreResult.CANDIDATE


async def texts(app: BrokerHarness, vault: Vault, tenant_id: UUID) -> list[list[str]]:
    """What a tenant's sealed columns open to; of a random one, its length."""
    found: list[list[str]] = []
    async with app.trusted.tenant(tenant_id) as work:
        for column in SEALED_COLUMNS:
            rows = await work.fetch(
                f"SELECT id, {column.version} AS version, {column.column} AS sealed FROM {column.table} "
                f"WHERE tenant_id = $1 AND {column.column} IS NOT NULL"
            )
            plain = [
                (await vault.open(work, column.build_context(row["id"], row["version"]), row["sealed"])).decode()
                for row in rows
            ]
            found.append([str(len(one)) for one in plain] if column.column == "pkce" else sorted(plain))
    return found
