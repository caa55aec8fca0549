"""Clients of others against one real product, by API token and by OAuth, with the three tools and with plain ones. The
run writes its table into docs/clients.md. Clients that cannot be installed are skipped by name."""

import asyncio
import datetime
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.clients.matrix.agents import AGENTS, Agent
from tests.clients.matrix.commands import COMMANDS, Command
from tests.clients.matrix.installed import NotInstalled
from tests.clients.matrix.libraries import LIBRARIES, Library
from tests.clients.matrix.plan import OAUTH, TOKEN, VIEWS, judge
from tests.clients.matrix.product import MatrixProduct, running_matrix_product
from tests.clients.matrix.table import build_row, build_skipped_row, is_good, write_rows
from tests.support.without_network import missing

pytestmark = [
    pytest.mark.long,
    pytest.mark.browser,
    pytest.mark.timeout(1800),
    pytest.mark.asyncio(loop_scope="module"),
]
CLIENTS = (*LIBRARIES, *COMMANDS, *AGENTS)
ORDER = [client.name for client in CLIENTS]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def product(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[MatrixProduct]:
    reason = missing()
    if reason is not None:
        pytest.skip(f"CLIENTS WERE NOT TRIED: there is no way to keep them from the network: {reason}")
    async with running_matrix_product(tmp_path_factory.mktemp("matrix")) as product:
        yield product


@pytest.mark.parametrize("auth", [TOKEN, OAUTH])
@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
async def test_client(product: MatrixProduct, tmp_path: Path, client: Library | Command | Agent, auth: str) -> None:
    day = datetime.datetime.now(datetime.UTC).date()
    try:
        await asyncio.to_thread(client.install)
    except NotInstalled as error:
        write_rows([build_skipped_row(client.name, client.version, day, auth, str(error))], ORDER)
        pytest.skip(f"{client.name.upper()} COULD NOT BE INSTALLED, it was not tried: {error}")
    answers = await client.drive(product, tmp_path, auth)
    views = {view: judge(view, answers[view]) for view in VIEWS}
    write_rows([build_row(client.name, client.version, day, auth, views)], ORDER)
    assert is_good(views), views
