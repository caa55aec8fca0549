"""A newer version beside an older one: only `mcpist migrate`, and `up` on its own database, change a schema."""

import asyncio
import json
from collections.abc import Iterator
from urllib.parse import quote, urlsplit

import asyncpg
import pytest

from core.config.settings import Settings
from core.database_url import DatabaseAddress
from core.migrations import downgrade, get_current_revision, get_head_revision
from core.secret import Secret
from server.data_folder import attach_database
from server.deployment import KEYS_FOLDER, PASSWORDS_FILE
from tests.cli.conftest import Home, new_home, running
from tests.support.postgres_process import running_server

OLDER = "0029"


@pytest.fixture
def external() -> Iterator[tuple[Home, str]]:
    """A data folder on a database of another server, migrated, and set back to an older schema."""
    with running_server() as url, new_home(migrated=False) as home:
        made = Home(home.path, home.port, {"MCPIST_DATABASE_URL": url})
        assert made.run("migrate", "--json").json() == {
            "changed": True,
            "revision": get_head_revision(),
            "before": None,
        }
        asyncio.run(downgrade(DatabaseAddress(Secret(url)), OLDER))
        yield made, url


def test_what_an_older_version_serves_is_left(external: tuple[Home, str]) -> None:
    home, url = external
    gateway = {"MCPIST_DATABASE_URL": _login(home, url, "mcpist_gateway"), "MCPIST_BROKER_URL": "http://127.0.0.1:1"}
    broker = {"MCPIST_DATABASE_URL": _login(home, url, "mcpist_broker")}
    commands: list[tuple[str, dict[str, str], str]] = [
        ("up --json", {}, OLDER),
        ("user list", {}, OLDER),
        ("keys status", {}, OLDER),
        ("audit verify", {}, OLDER),
        ("adopt", {}, OLDER),
        ("keys forget-peppers", {}, OLDER),
        ("broker --json", broker, "before 0030"),
        ("gateway --json", gateway, "before 0030"),
    ]
    for command, variables, told in commands:
        ended = home.run(*command.split(), **variables)
        assert (ended.code, ended.out) == (8, ""), (command, ended)
        assert all(one in ended.err for one in (told, get_head_revision(), "`mcpist migrate`")), (command, ended.err)
        assert asyncio.run(_read_revision(url)) == OLDER, command
    ended = home.run("migrate")
    assert f"schema {get_head_revision()} now; it was at {OLDER}" in ended.out
    assert home.run("tenant", "list").code == 0


def test_a_start_upgrades_its_own_database_and_says_so() -> None:
    with new_home() as home:
        asyncio.run(_set_back(home))
        refused = home.run("user", "list")
        assert refused.code == 8
        assert "`mcpist migrate`" in refused.err
        with running(home) as product:
            log = product.stop().err
        (line,) = [json.loads(one) for one in log.splitlines() if '"schema_upgraded"' in one]
        assert line["message"] == f"database schema upgraded: {OLDER} → {get_head_revision()}"
        assert home.run("user", "list").code == 0


async def _set_back(home: Home) -> None:
    settings = Settings.from_environment({"MCPIST_HOME": str(home.path)})
    async with attach_database(settings, lambda _: None) as deployment:
        await downgrade(deployment.admin, OLDER)


async def _read_revision(url: str) -> str | None:
    connection = await asyncpg.connect(url)
    try:
        return await get_current_revision(connection)
    finally:
        await connection.close()


def _login(home: Home, url: str, role: str) -> str:
    """The database's URL with the login of one of the product's roles."""
    passwords = json.loads((home.path / KEYS_FOLDER / PASSWORDS_FILE).read_text())
    parts = urlsplit(url)
    return parts._replace(netloc=f"{role}:{quote(passwords[role])}@{parts.netloc.rpartition('@')[2]}").geturl()
