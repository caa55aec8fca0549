"""A split deployment is lost and comes back from two files: the backup of its database, and that of its keys.

Accounts that the original has not refreshed since the backup go on. Of the others the vendor has spent the stored
token, and their owners have to connect them anew. Nobody else's account is lost with them.
"""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest

from core.db import connect
from server.deployment import KEYS_FOLDER, PASSWORDS_FILE
from tests.broker.refresh.vendor import Vendor, vendor_of
from tests.process.vendor_accounts import add_person, connect_account, has_refreshed, make_due
from tests.support.eventually import within
from tests.support.postgres import PASSWORDS, DatabaseServer, ScratchDatabase
from tests.support.product import Person
from tests.support.running_product import command, free_port
from tests.support.split import Process, Split, build_role_url, running, split_on

pytestmark = pytest.mark.timeout(240)
SECONDS = 60


@pytest.fixture
async def vendor(tmp_path: Path) -> AsyncIterator[Vendor]:
    async with vendor_of(tmp_path, "strict") as made:
        yield made


@pytest.mark.guarantee("G16")
@pytest.mark.reuse("a restored deployment cannot know that the original has refreshed since")
async def test_a_split_deployment_comes_back_with_its_keys(
    database_server: DatabaseServer, vendor: Vendor, tmp_path: Path
) -> None:
    passphrase, home = tmp_path / "passphrase", tmp_path / "restored"
    passphrase.write_text("a long passphrase of the drill\n")
    passphrase.chmod(0o600)
    dump, files = (
        str(tmp_path / "all.dump"),
        ("--keys-file", str(tmp_path / "all.keys"), "--passphrase-file", str(passphrase)),
    )
    async with (
        database_server.database() as first,
        database_server.database(migrated=False) as second,
        split_on(
            first, tmp_path / "first", gateways=1, variables={"SWEEP_EVERY": "0.3"}, hosts=[vendor.host]
        ) as original,
    ):
        ada, bo = await add_person(original, "ada"), await add_person(original, "bo")
        kept, rotated = await connect_account(original, ada, vendor), await connect_account(original, bo, vendor)
        share_roles(original.broker.home)
        variables = {**original.broker.variables, "MCPIST_DATABASE_URL": first.admin.url.reveal()}
        await command(original.broker.home, 1, "backup", dump, *files, **variables)
        await make_due(first, rotated)
        await within(SECONDS, lambda: has_refreshed(vendor, 1))
        await original.broker.end()
        await original.gateways[0].end()

        share_roles(home)
        admin = second.admin.url.reveal()
        told = await command(home, 1, "restore", dump, *files, MCPIST_DATABASE_URL=admin)
        assert told["adopted"] is False
        assert (home / KEYS_FOLDER / "gateways.pem").read_bytes() == (tmp_path / "first" / "gateways.pem").read_bytes()
        broker, original.gateways[0] = move_processes(original, second, home)
        async with running([broker]), running(original.gateways):
            refused = await original.call(ada, "shop", "look", at=0, what="tea")
            assert refused.failed, "a copy hands out no token"
            await command(home, 1, "adopt", MCPIST_DATABASE_URL=admin)
            await within(SECONDS, lambda: can_look(original, ada))
            await make_due(second, kept, rotated)
            await within(SECONDS, lambda: has_states(second, {kept: "active", rotated: "needs_reauth"}))
        assert (await vendor.counters())["granted:refresh_token"] == 2, (
            "that of the account kept, beside the original's"
        )


def move_processes(original: Split, database: ScratchDatabase, home: Path) -> tuple[Process, Process]:
    """The broker on the restored folder, and the gateway on its own, both on the restored database."""
    port, public = free_port(), original.broker.variables
    broker = Process("broker", home, port, {**public, "MCPIST_DATABASE_URL": build_role_url(database, "mcpist_broker")})
    del broker.variables["MCPIST_BROKER_GATEWAYS"]
    gateway = original.gateways[0]
    moved = {
        "MCPIST_DATABASE_URL": build_role_url(database, "mcpist_gateway"),
        "MCPIST_BROKER_URL": f"http://127.0.0.1:{port}",
    }
    return broker, Process("gateway", gateway.home, gateway.port, {**gateway.variables, **moved})


async def can_look(deployment: Split, person: Person) -> bool:
    heard = await deployment.call(person, "shop", "look", at=0, what="tea")
    return heard.status == 200 and not heard.failed


async def has_states(database: ScratchDatabase, expected: dict[UUID, str]) -> bool:
    admin = await connect(database.admin)
    try:
        rows = await admin.fetch("SELECT id, status, refresh_at > vault.clock() AS later FROM vault.accounts")
    finally:
        await admin.close()
    return {row["id"]: row["status"] for row in rows if row["later"] or row["status"] != "active"} == expected


def share_roles(home: Path) -> None:
    """The roles are the server's: a second database there is used with the passwords of the first."""
    (home / KEYS_FOLDER).mkdir(parents=True, exist_ok=True)
    file = home / KEYS_FOLDER / PASSWORDS_FILE
    file.write_text(json.dumps({role: password.reveal() for role, password in PASSWORDS.items()}))
    file.chmod(0o600)
