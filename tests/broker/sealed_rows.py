"""Something in every sealed column of a tenant, as the product puts it there; and what is in them."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

from broker.accounts.rows import ACCESS, REFRESH, candidate_place, look
from broker.accounts.store import Grant, add_client, link
from broker.accounts.values import Ref
from broker.connect.accounts import AccountRows
from broker.connect.flows import Flows, NewFlow
from broker.identity.sessions import Session, Sessions
from broker.providers.model import RefreshRules
from broker.refresh.outcome import Outcome
from broker.refresh.store import Stored, store
from broker.vault.sealed_columns import SEALED_COLUMNS
from broker.vault.vault import Vault
from broker.vendor_oauth.exchange import Tokens, VendorClient
from core.db import UnitOfWork
from core.secret import Secret
from tests.broker.world import Person, World

VENDOR = "vendor"


async def connect(world: World, person: Person, module: str) -> None:
    """An account (type B) behind a person's `module`, an answer for it that came late, and a flow under way."""
    session = await signed_in(world, person)
    async with world.trusted.tenant(person.tenant_id) as work:
        client = VendorClient("client", Secret("client-secret"))
        client_id = await add_client(work, world.vault, VENDOR, client)
        tokens = Tokens(Secret("access-b"), Secret("refresh-b"), 3600.0, None)
        account = await link(work, world.vault, Grant(VENDOR, client_id, person.own, tokens, RefreshRules()))
        await AccountRows(world.vault).tie(
            work, {module: ("https://api.vendor.test",)}, person.own, account, person.email
        )
        await come_late(world, work, Ref(person.tenant_id, account))
        asked = NewFlow(VENDOR, client_id, (module,), None, account, "", (), "https://mcpist.test/callback", "/")
        await Flows(world.trusted, world.vault, clock=world.clock).begin(work, session, asked, pkce=True)


async def signed_in(world: World, person: Person) -> Session:
    # A cookie is looked up past the tenants, by policies of the broker's role: `trusted` may be another.
    sessions = Sessions(world.tokens._database, clock=world.clock)
    session = await sessions.find(await sessions.begin(person.tenant_id, person.id, "link"))
    assert session is not None
    return session


async def come_late(world: World, work: UnitOfWork, ref: Ref) -> None:
    """What a refresh brought that somebody else has been faster than: a candidate."""
    seen = await look(work, ref.id)
    assert seen is not None
    version = seen.version - 1
    seal, candidate = (await world.vault.sealer(work)).seal, uuid4()
    access = seal(candidate_place(candidate, ACCESS, version), b"access-late")
    refresh = seal(candidate_place(candidate, REFRESH, version), b"refresh-late")
    ends = datetime.now(UTC)
    late = Outcome(ref, version, uuid4(), 1, access, refresh, ends, None, None, None, candidate, access, refresh)
    assert await store(work, late) is Stored.CANDIDATE


async def texts(world: World, vault: Vault, tenant_id: UUID) -> list[list[str]]:
    """What a tenant's sealed columns open to; of a random one, its length."""
    found: list[list[str]] = []
    async with world.trusted.tenant(tenant_id) as work:
        for column in SEALED_COLUMNS:
            rows = await work.fetch(
                f"SELECT id, {column.version} AS version, {column.column} AS sealed FROM {column.table} "
                f"WHERE tenant_id = $1 AND {column.column} IS NOT NULL"
            )
            plain = [
                (await vault.open(work, column.place(row["id"], row["version"]), row["sealed"])).decode()
                for row in rows
            ]
            found.append([str(len(one)) for one in plain] if column.column == "pkce" else sorted(plain))
    return found
