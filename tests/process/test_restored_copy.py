"""A dump that is restored elsewhere and started as a real process: it refreshes nothing until it is adopted (G16).

A copy that refreshed would show tokens that the original has spent since, and end the accounts of everybody.
"""

import contextlib
import json
import shutil
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest

from broker.connections.account_repository import AccountGrant, insert_account, insert_client
from broker.vault.credential_store import CredentialOwner
from broker.vault.vault import open_vault
from core.config.settings import Settings
from core.db import Database, connect
from server.operator_context import OperatorContext, open_operator_context
from server.role_database import BROKER_ROLE, get_utc_now, open_role_database
from server.vault_keys import open_key_provider
from tests.broker.refresh.vendor import Vendor, vendor_of
from tests.support.eventually import within
from tests.support.running_product import command, data_folder, free_port
from tests.support.split import Process, running

pytestmark = pytest.mark.timeout(240)

KEYS = ("vault-kek.json", "token-peppers.json", "audit-digest.json")
SECONDS = 60


@pytest.fixture
async def vendor(tmp_path: Path) -> AsyncIterator[Vendor]:
    async with vendor_of(tmp_path, "strict") as made:
        yield made


def product_on(home: Path, vendor: Vendor) -> Process:
    """`mcpist up` on a data folder, in a hurry to refresh."""
    variables = {"MCPIST_ALLOWED_PRIVATE_HOSTS": vendor.host, "SHOP_URL": "http://127.0.0.1:9", "SWEEP_EVERY": "0.3"}
    return Process("up", home, free_port(), variables)


@pytest.mark.guarantee("G16")
async def test_a_restored_copy_asks_no_vendor_until_it_is_adopted(vendor: Vendor, tmp_path: Path) -> None:
    with data_folder() as first, data_folder(migrated=False) as second:
        original = product_on(first, vendor)
        async with running([original]):
            account = await connected_account(original, vendor)
            await within(SECONDS, lambda: refreshed(vendor, 1))
            await make_due(original, account)
            await within(SECONDS, lambda: refreshed(vendor, 2))
            await original.end()  # or it would refresh what falls due now
            await make_due(original, account)
            await command(first, original.port, "backup", str(tmp_path / "all.dump"))

        copy = product_on(second, vendor)
        told = await command(second, copy.port, "restore", str(tmp_path / "all.dump"))
        assert told["adopted"] is False
        for name in KEYS:
            shutil.copy2(first / "keys" / name, second / "keys")
        async with running([copy]):
            await within(SECONDS, lambda: said(copy, "background refresh is off: this deployment is a copy"))
            assert await vendor.calls() == 2, "the copy has looked, leaves what is due alone, and asked nobody"
            assert "mcpist adopt" in copy.log()
            await command(second, copy.port, "adopt")
            await within(SECONDS, lambda: refreshed(vendor, 3))
        assert await vendor.reuses() == 0


async def refreshed(vendor: Vendor, times: int) -> bool:
    return (await vendor.counters()).get("granted:refresh_token", 0) == times


async def said(process: Process, what: str) -> bool:
    return what in process.log()


@contextlib.asynccontextmanager
async def opened(process: Process) -> AsyncGenerator[tuple[OperatorContext, Database]]:
    settings = Settings(home=process.home, port=process.port)
    async with (
        open_operator_context(settings, lambda _: None) as hands,
        open_role_database(hands.deployment, BROKER_ROLE, max_connections=2) as broker,
    ):
        yield hands, broker


async def connected_account(process: Process, vendor: Vendor) -> UUID:
    """An account of the first administrator at a provider that the tenant has added; it is due at once."""
    async with opened(process) as (hands, broker), open_key_provider(hands.deployment) as keys:
        vault = await open_vault(broker, keys, clock=get_utc_now)
        tenant_id, user_id = await administrator(hands, process.ready["admin_email"])
        async with broker.tenant(tenant_id) as work:
            await work.execute(_ADD, vendor.id, json.dumps(vendor.document))
            client = await insert_client(work, vault, vendor.id, vendor.client)
            assert vendor.provider.oauth is not None
            owner, tokens = CredentialOwner("personal", user_id), await vendor.grant("ada")
            account = await insert_account(
                work, vault, AccountGrant(vendor.id, client, owner, tokens, vendor.provider.oauth.refresh)
            )
    await make_due(process, account)
    return account


async def administrator(hands: OperatorContext, email: str) -> tuple[UUID, UUID]:
    admin = await connect(hands.deployment.admin)
    try:
        return tuple(await admin.fetchrow("SELECT tenant_id, id FROM core.users WHERE email = $1", email))
    finally:
        await admin.close()


async def make_due(process: Process, account: UUID) -> None:
    async with opened(process) as (hands, _):
        admin = await connect(hands.deployment.admin)
        try:
            await admin.execute("UPDATE vault.accounts SET refresh_at = vault.clock() WHERE id = $1", account)
        finally:
            await admin.close()


_ADD = "INSERT INTO vault.providers (tenant_id, id, document) VALUES ($1, $2, $3::jsonb)"
