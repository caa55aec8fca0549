"""A broker and a gateway log in at the database with a certificate each, whose common name is their role."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.certificates import Authority, SelfSigned, make_authority
from tests.support.postgres import ScratchDatabase
from tests.support.postgres_tls import tls_in_front_of
from tests.support.split import Process, Split, split_on

pytestmark = pytest.mark.timeout(180)

ROLES = {"gateway": "mcpist_gateway", "broker": "mcpist_broker"}


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return make_authority(tmp_path)


@pytest.fixture
def certificates(authority: Authority, tmp_path: Path) -> dict[str, SelfSigned]:
    return {command: authority.issue(role, tmp_path) for command, role in ROLES.items()}


@pytest.fixture
async def deployment(
    database: ScratchDatabase, authority: Authority, certificates: dict[str, SelfSigned], tmp_path: Path
) -> AsyncIterator[Split]:
    server = authority.issue("server", tmp_path)
    async with tls_in_front_of(database.admin, server, clients=authority.certificate) as url:
        prepare = partial(show, url, authority, certificates)
        async with split_on(database, tmp_path / "deployment", gateways=1, prepare=prepare) as made:
            yield made


def show(url: str, authority: Authority, certificates: dict[str, SelfSigned], process: Process) -> None:
    """Have a process log in by TLS alone, with its own certificate."""
    login = urlsplit(process.variables["MCPIST_DATABASE_URL"]).netloc.rpartition("@")[0]
    there, files = urlsplit(url), certificates[process.command]
    where = there.netloc.rpartition("@")[2]
    options = f"sslmode=verify-full&sslrootcert={authority.certificate}&sslcert={files.certificate}&sslkey={files.key}"
    process.variables["MCPIST_DATABASE_URL"] = f"postgresql://{login}@{where}{there.path}?{options}"


async def test_each_process_shows_its_own(deployment: Split, certificates: dict[str, SelfSigned]) -> None:
    tenant = await deployment.product.tenant("acme", services=["shop"])
    ada = await deployment.product.person(tenant, "ada@acme.test", allow=["*"])
    await deployment.add(ada, "token-at-the-shop-of-ada")
    assert await deployment.said(ada, "look") == "ada@acme.test: tea"

    gateway = deployment.gateways[0]
    url = gateway.variables["MCPIST_DATABASE_URL"]
    own, other = certificates["gateway"], certificates["broker"]
    faults = {
        url.replace(str(own.certificate), str(other.certificate)).replace(str(own.key), str(other.key)): "common name",
        url.replace(f"&sslcert={own.certificate}&sslkey={own.key}", ""): "sslcert and sslkey in MCPIST_DATABASE_URL",
        url.replace(f"sslkey={own.key}", f"sslkey={own.key}.lost"): "sslkey in MCPIST_DATABASE_URL.*does not exist",
    }
    for wrong, told in faults.items():
        await gateway.end()
        gateway.variables["MCPIST_DATABASE_URL"] = wrong
        with pytest.raises(AssertionError, match=told):
            await gateway.start()
    gateway.variables["MCPIST_DATABASE_URL"] = url
    await gateway.start()
    assert await deployment.said(ada, "look") == "ada@acme.test: tea"
