"""An own database server: what a role without every right, and a second product on one data folder, are told."""

import asyncio
import json
from collections.abc import Iterator

import asyncpg
import pytest

from server.deployment import KEYS_FOLDER, PASSWORDS_FILE
from tests.cli.conftest import Home, Product, new_home, running
from tests.server.test_role_passwords import call_many
from tests.support.postgres_process import running_server
from tests.support.running_product import free_port

pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running_server() as made:
        yield made


@pytest.fixture(scope="module")
def home(url: str) -> Iterator[Home]:
    with new_home(migrated=False) as made:
        yield Home(made.path, made.port, {"MCPIST_DATABASE_URL": url})


@pytest.fixture(scope="module")
def product(home: Home) -> Iterator[Product]:
    with running(home) as made:
        yield made


def test_a_second_product_on_the_folder_is_refused(home: Home, product: Product) -> None:
    assert product.ready["ready"]
    ended = home.process("up", "--json", MCPIST_PORT=str(free_port()))
    assert (ended.code, ended.out) == (5, "")
    assert f"Another MCPist is running on {home.path}" in ended.err


def test_a_backup_needs_a_right_and_says_which(url: str, home: Home, product: Product) -> None:
    assert product.ready["ready"]
    renter = asyncio.run(_create_renter(url))
    target = home.path.parent / "monday.dump"
    ended = home.run("backup", str(target), MCPIST_DATABASE_URL=renter)
    assert ended.code == 1
    assert "ALTER ROLE renter BYPASSRLS" in ended.err
    assert not target.exists()
    assert home.run("backup", str(target)).code == 0


@pytest.mark.timeout(300)
def test_passwords_rotate_under_load_without_a_failed_call(url: str, home: Home, product: Product) -> None:
    """More calls at once than before need new connections, with the new passwords; the product is not restarted."""
    file = home.path / KEYS_FOLDER / PASSWORDS_FILE
    before = json.loads(file.read_text())
    assert asyncio.run(call_many(product, 1, 5)) == []
    rotated = home.run("migrate", MCPIST_NEW_ROLE_PASSWORDS="yes")
    assert (rotated.code, "have new passwords" in rotated.err) == (0, True)
    after = json.loads(file.read_text())
    assert all(before[role] != after[role] for role in before)
    assert asyncio.run(_refuses(url, before["mcpist_gateway"]))
    assert asyncio.run(call_many(product, 24, 10)) == []
    assert home.run("user", "list").code == 0


async def _create_renter(url: str) -> str:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("CREATE ROLE renter LOGIN CREATEROLE PASSWORD 'renter'")
    finally:
        await connection.close()
    scheme, rest = url.split("://", 1)
    return f"{scheme}://renter:renter@{rest.partition('@')[2]}"


async def _refuses(url: str, password: str) -> bool:
    scheme, rest = url.split("://", 1)
    try:
        connection = await asyncpg.connect(f"{scheme}://mcpist_gateway:{password}@{rest.partition('@')[2]}")
    except asyncpg.InvalidPasswordError:
        return True
    await connection.close()
    return False
