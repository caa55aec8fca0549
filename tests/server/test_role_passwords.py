"""Two data folders, one database server of one's own: a command on the second never shuts out the first's MCPist."""

import asyncio
import json
import shutil
from collections.abc import Iterator

import asyncpg
import httpx2
import pytest

from core.database_url import DatabaseAddress
from core.secret import Secret
from server.deployment import KEYS_FOLDER, PASSWORDS_FILE
from tests.cli.conftest import Home, Product, new_home, running
from tests.support.eventually import within
from tests.support.postgres_process import running_server


@pytest.fixture
def url() -> Iterator[str]:
    with running_server() as made:
        yield made


@pytest.fixture
def other() -> Iterator[Home]:
    with new_home(migrated=False) as home:
        yield home


@pytest.fixture
def product(url: str, fresh: Home) -> Iterator[Product]:
    with running(Home(fresh.path, fresh.port, {"MCPIST_DATABASE_URL": url})) as made:
        yield made


@pytest.fixture
def fresh() -> Iterator[Home]:
    with new_home(migrated=False) as home:
        yield home


def test_a_folder_without_the_passwords_changes_none(url: str, product: Product, fresh: Home, other: Home) -> None:
    passwords = other.path / KEYS_FOLDER / PASSWORDS_FILE
    for command in ("migrate", "user list", "up"):
        ended = other.run(*command.split(), MCPIST_DATABASE_URL=url)
        assert ended.code == 5, command
        assert all(told in ended.err for told in (f"{passwords}", "MCPIST_HOME", "MCPIST_NEW_ROLE_PASSWORDS=yes"))
        assert not other.path.exists()
    other.path.mkdir()
    (finding,) = [one for one in _checks(other, url) if one["check"] == "database"]
    assert (finding["state"], f"{passwords}" in finding["message"]) == ("error", True)
    assert list(other.path.iterdir()) == []
    assert asyncio.run(_still_works(url, product))
    passwords.parent.mkdir(mode=0o700)
    shutil.copy(fresh.path / KEYS_FOLDER / PASSWORDS_FILE, passwords)
    listed = other.run("user", "list", "--json", MCPIST_DATABASE_URL=url).json()
    assert [one["email"] for one in listed] == ["admin@localhost"]
    assert asyncio.run(_still_works(url, product))


def test_whoever_says_so_gets_new_passwords(url: str, product: Product, other: Home) -> None:
    product.stop()
    given = {"MCPIST_DATABASE_URL": url, "MCPIST_NEW_ROLE_PASSWORDS": "yes"}
    listed = other.run("user", "list", "--json", **given).json()
    assert [one["email"] for one in listed] == ["admin@localhost"]
    before = (other.path / KEYS_FOLDER / PASSWORDS_FILE).read_bytes()
    assert other.run("user", "list", "--json", **given).json() == listed
    assert (other.path / KEYS_FOLDER / PASSWORDS_FILE).read_bytes() == before, (
        "there are passwords now, so none is made"
    )


def _checks(home: Home, url: str) -> list[dict[str, str]]:
    return json.loads(home.run("doctor", "--json", MCPIST_DATABASE_URL=url).out)["checks"]


async def _still_works(url: str, product: Product) -> bool:
    """The product logs in anew, with the passwords that it has had."""
    connection = await asyncpg.connect(**DatabaseAddress(Secret(url)).connect_args())
    try:
        await connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename LIKE 'mcpist%'")
    finally:
        await connection.close()
    headers = {"Authorization": f"Bearer {product.ready['api_token']}"}
    server = product.ready["mcp_url"].removesuffix("/mcp")
    async with httpx2.AsyncClient(base_url=server, headers=headers, timeout=20) as client:

        async def answers() -> bool:
            return (await client.get("/api/v1/me")).status_code == 200

        await within(10, answers)
    return True


async def call_many(product: Product, at_once: int, each: int) -> list[str]:
    """Call a tool that reads and the admin API, so often one after the other by so many; what failed."""
    headers = {"Authorization": f"Bearer {product.ready['api_token']}", "Accept": "application/json, text/event-stream"}
    arguments = {"module": "knowledge_graph", "tool_name": "read_graph", "params": {}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "call", "arguments": arguments}}
    failed: list[str] = []

    async with httpx2.AsyncClient(headers=headers, timeout=30, trust_env=False) as http:

        async def work() -> None:
            for _ in range(each):
                answer = await http.post(product.ready["mcp_url"], json=message)
                if answer.status_code != 200 or answer.json()["result"].get("isError"):
                    failed.append(answer.text[:300])

        await asyncio.gather(*(work() for _ in range(at_once)))
    return failed
