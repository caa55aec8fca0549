"""Key-encryption keys change beside a running broker and its gateway, by commands that are killed half way: no lease
fails meanwhile, and the old key is gone at the end (G8)."""

import asyncio
import json
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from core.secret import Secret
from server.deployment import KEYS_FOLDER, PASSWORDS_FILE, VAULT_KEYS_FILE
from tests.process.split_load import Load
from tests.support.eventually import within
from tests.support.fork_server import create_forked_process
from tests.support.postgres import PASSWORDS as KNOWN
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR, Person
from tests.support.running_product import MCPIST, command, environment
from tests.support.split import Split, split_on

pytestmark = pytest.mark.timeout(240)

SECRETS = 60
"""More than a batch, so that a command that is killed has left something."""


@pytest.fixture
async def deployment(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[Split]:
    async with split_on(database, tmp_path, gateways=1) as made:
        passwords = made.broker.home / KEYS_FOLDER / PASSWORDS_FILE
        passwords.touch(mode=0o600)
        passwords.write_text(json.dumps({role: secret.reveal() for role, secret in KNOWN.items()}))
        yield made


async def keys(deployment: Split, *arguments: str) -> Any:
    """`mcpist keys …`, as the operator runs it."""
    url = deployment.product.database.admin.url.reveal()
    return await command(deployment.broker.home, deployment.broker.port, "keys", *arguments, MCPIST_DATABASE_URL=url)


async def killed(deployment: Split, *arguments: str, seconds: float) -> None:
    """The same, killed after so long: before it has begun, half way or when it is done, whichever it is."""
    url = deployment.product.database.admin.url.reveal()
    process = await create_forked_process(
        str(MCPIST), "keys", *arguments,
        env=environment(deployment.broker.home, deployment.broker.port, MCPIST_DATABASE_URL=url),
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL, stdin=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with asyncio.timeout(seconds):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


async def people(deployment: Split) -> list[Person]:
    """Two who call, and many whose secrets are there as well."""
    tenant = await deployment.product.tenant("acme", services=["shop", "knowledge_graph"])
    made = [await deployment.product.person(tenant, f"{name}@acme.test", allow=["*"]) for name in ("ada", "bob")]
    for person in made:
        await deployment.add(person, f"token-at-the-shop-of-{person.id}")
    for number in range(SECRETS):
        one = await deployment.product.person(tenant, f"person-{number}@acme.test")
        owner = await deployment.credentials.resolve_owner(tenant.id, email=one.email)
        await deployment.credentials.put(ACTOR, tenant.id, "shop", owner, Secret(f"token-at-the-shop-of-{one.id}"), "")
    return made


async def rotated(deployment: Split, pauses: tuple[float, ...]) -> None:
    old = next(key["kek_id"] for key in (await keys(deployment, "status"))["keys"] if key["active"])
    new = (await keys(deployment, "add"))["id"]
    await keys(deployment, "activate", new)
    for step in ("rewrap", "reencrypt"):
        for seconds in pauses:
            await killed(deployment, step, seconds=seconds)
        await within(60, partial(complete, deployment, step))
    await keys(deployment, "retire", old)
    assert list(json.loads((deployment.broker.home / KEYS_FOLDER / VAULT_KEYS_FILE).read_text())["keys"]) == [new]


async def complete(deployment: Split, step: str) -> bool:
    done = await keys(deployment, step)
    assert done.get("damaged", 0) == 0
    return done.get("busy", 0) == 0


@pytest.mark.guarantee("G8")
@pytest.mark.parametrize(
    ("rounds", "pauses"),
    [(1, (1.0,)), pytest.param(6, (0.6, 0.9, 1.2, 1.8), marks=[pytest.mark.long, pytest.mark.timeout(900)])],
)
async def test_keys_change_under_load_by_commands_that_are_killed(
    deployment: Split, rounds: int, pauses: tuple[float, ...]
) -> None:
    load = Load(deployment, await people(deployment))
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(load.work(who, number)) for number, who in enumerate(load.people)]
        tasks.append(group.create_task(load.churn()))
        await load.answers(10)
        for _ in range(rounds):
            await rotated(deployment, pauses)
        await load.everybody_is_served()
        load.stop = True
        await asyncio.wait(tasks)
    assert load.errors == {}, "no lease has failed"
