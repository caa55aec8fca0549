"""The real product on an own database, on the event loop that it has in production."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvloop

from core.directory.tenants import Tenant
from gateway.catalogue import build_catalogue, load_installed_modules
from tests.path.mall import Mall, opened_mall
from tests.support.postgres import ScratchDatabase
from tests.support.product import Node, Person, Product, product_on
from tests.support.toy_modules import Lab


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> Mapping[str, Callable[[], Any]]:
    return {"uvloop": uvloop.new_event_loop}


@dataclass(frozen=True, slots=True)
class People:
    """Two tenants, in which the same names mean other people."""

    acme: Tenant
    globex: Tenant
    admin: Person
    reader: Person
    nobody: Person
    other_admin: Person
    other_reader: Person


@pytest.fixture
def lab() -> Lab:
    """Tools that misbehave on demand; every product has them."""
    return Lab()


@pytest.fixture
async def product(database: ScratchDatabase, tmp_path: Path, lab: Lab) -> AsyncIterator[Product]:
    """The deployment, without a gateway."""
    catalogue = build_catalogue([*load_installed_modules().modules, lab.module()])
    async with product_on(database, tmp_path / "home", catalogue=catalogue) as product:
        yield product


@pytest.fixture
async def mall(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[Mall]:
    """A product with a vendor."""
    async with opened_mall(database, tmp_path) as mall:
        yield mall


@pytest.fixture
async def people(product: Product) -> People:
    """The administrators may use everything, readers only look, nobody has nothing."""
    acme, globex = await product.tenant("acme"), await product.tenant("globex")
    return People(
        acme,
        globex,
        await product.person(acme, "admin@mail.test", allow=["*"]),
        await product.person(acme, "reader@mail.test", allow=["knowledge_graph:read", "lab.look"]),
        await product.person(acme, "nobody@mail.test"),
        await product.person(globex, "admin@mail.test", allow=["*"]),
        await product.person(globex, "reader@mail.test", allow=["knowledge_graph:read", "lab.look"]),
    )


@pytest.fixture
async def node(product: Product) -> AsyncIterator[Node]:
    """A gateway with the settings that everybody has."""
    async with product.gateway() as node:
        yield node
