"""The real product on an own database, on the event loop that it has in production."""

import itertools
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
import pytest_asyncio
import uvloop

from core.directory.tenants import Tenant
from gateway.catalogue import Catalogue, build_catalogue, load_installed_modules
from gateway.meta_tools.definitions import MAX_LISTED_MODULES
from server.deployment import KEYS_FOLDER
from tests.path.shop_app import ShopApp, open_shop_app
from tests.path.task_app import TaskApp, open_task_app
from tests.support.postgres import DatabaseServer, ScratchDatabase
from tests.support.product import Node, Person, Product, product_on
from tests.support.toy_modules import Lab

Test = TypeVar("Test", bound=Callable[..., Any])


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


@dataclass(frozen=True, slots=True)
class Populated:
    """A database with `people`, to be copied, and the keys of the product that made them."""

    database: str
    keys: Path
    people: People


_NUMBERS = itertools.count()
_POPULATED: list[Populated] = []
"""Made once in a worker, by the first test that asks for people."""


def on_shared_product(test: Test) -> Test:
    """Run a test on one product for all such tests of the file: one that changes nothing which another looks at."""
    return pytest.mark.shared_product(pytest.mark.asyncio(loop_scope="module")(test))


def with_own_people(test: Test) -> Test:
    """Run a test on the shared product, with people of its own: it may change their rights, those of their tenants, and
    these tenants' settings."""
    return pytest.mark.own_people(on_shared_product(test))


@pytest.fixture
def lab(request: pytest.FixtureRequest) -> Lab:
    """Tools that misbehave on demand; every product has them."""
    if not is_shared(request):
        return Lab()
    lab: Lab = request.getfixturevalue("shared_product").lab
    lab.renew()
    return lab


def is_shared(request: pytest.FixtureRequest) -> bool:
    """Whether the test runs on a product that is shared."""
    return request.node.get_closest_marker("shared_product") is not None


def has_own_people(request: pytest.FixtureRequest) -> bool:
    """Whether the test has people of its own on a product that is shared."""
    return request.node.get_closest_marker("own_people") is not None


@pytest.fixture
async def database(
    request: pytest.FixtureRequest,
    database_server: DatabaseServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[ScratchDatabase]:
    """An own database at the newest schema, in which the people exist already if the test has them."""
    with_people = "people" in request.fixturenames
    if with_people and not _POPULATED:
        _POPULATED.append(await _populate(database_server, tmp_path_factory.mktemp("populated") / "home"))
    async with database_server.database(copy_of=_POPULATED[0].database if with_people else None) as made:
        yield made


async def _populate(server: DatabaseServer, home: Path) -> Populated:
    database = await server.keep_database()
    async with product_on(database, home, catalogue=build_lab_catalogue(Lab())) as product:
        people = await create_people(product)
    return Populated(database.name, home / KEYS_FOLDER, people)


def build_lab_catalogue(lab: Lab) -> Catalogue:
    """The installed modules and the lab."""
    return build_catalogue([*load_installed_modules().modules, lab.module()])


def list_lab_modules(*without: str) -> list[str]:
    """The names of the modules of every product here, in the order in which they are told."""
    return [one.name for one in build_lab_catalogue(Lab()).modules if one.name not in without]


def list_told_modules(*without: str) -> list[str]:
    """What is told of them at the beginning: twelve names, and how many more there are."""
    names = list_lab_modules(*without)
    omitted = len(names) - MAX_LISTED_MODULES
    return [*names[:MAX_LISTED_MODULES], *([f"and {omitted} more"] if omitted > 0 else [])]


@pytest.fixture
def product(request: pytest.FixtureRequest) -> Product:
    """The deployment, without a gateway."""
    if is_shared(request):
        return request.getfixturevalue("shared_product").product
    return request.getfixturevalue("own_product")


@pytest.fixture
async def own_product(
    request: pytest.FixtureRequest, database: ScratchDatabase, tmp_path: Path, lab: Lab
) -> AsyncIterator[Product]:
    """A deployment of the test's own."""
    keys = _POPULATED[0].keys if "people" in request.fixturenames else None
    async with product_on(database, tmp_path / "home", catalogue=build_lab_catalogue(lab), keys=keys) as product:
        yield product


@pytest.fixture
async def app(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[ShopApp]:
    """A product with a vendor."""
    async with open_shop_app(database, tmp_path) as app:
        yield app


@pytest.fixture
def people(request: pytest.FixtureRequest, product: Product) -> People:
    """The people that are in the product's database, or who have just come."""
    if has_own_people(request):
        return request.getfixturevalue("new_people")
    return request.getfixturevalue("shared_product").people if is_shared(request) else _POPULATED[0].people


@pytest_asyncio.fixture(loop_scope="module")
async def new_people(shared_product: "SharedProduct") -> People:
    """People of two new tenants on the product of :func:`with_own_people`."""
    return await create_people(shared_product.product, f"-{next(_NUMBERS)}")


@dataclass(frozen=True, slots=True)
class SharedProduct:
    """A product for all tests of a file that change nothing which another of them looks at."""

    product: Product
    node: Node
    people: People
    lab: Lab


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_product(
    database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[SharedProduct]:
    """The product of :func:`on_shared_product`."""
    lab, home = Lab(), tmp_path_factory.mktemp("shared") / "home"
    async with (
        database_server.database() as database,
        product_on(database, home, catalogue=build_lab_catalogue(lab)) as product,
        product.gateway() as node,
    ):
        yield SharedProduct(product, node, await create_people(product), lab)


async def create_people(product: Product, mark: str = "") -> People:
    """Create people of two tenants: administrators may use everything, readers only look, nobody has nothing. `mark` is
    the end of the tenants' names."""
    acme, globex = await product.tenant(f"acme{mark}"), await product.tenant(f"globex{mark}")
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
def node(request: pytest.FixtureRequest, product: Product) -> Node:
    """A gateway with the settings that everybody has."""
    if is_shared(request):
        return request.getfixturevalue("shared_product").node
    return request.getfixturevalue("own_node")


@pytest.fixture
async def own_node(own_product: Product) -> AsyncIterator[Node]:
    """A gateway of the test's own."""
    async with own_product.gateway() as node:
        yield node


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_task_app(
    database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[TaskApp]:
    """The product with asynchronous tools of :func:`on_shared_product`."""
    async with (
        database_server.database() as database,
        open_task_app(database, tmp_path_factory.mktemp("tasks")) as app,
    ):
        yield app


@pytest_asyncio.fixture(loop_scope="module")
async def task_app(request: pytest.FixtureRequest, shared_task_app: TaskApp) -> TaskApp:
    """A product with asynchronous tools, without what earlier tests have left. Rights may be changed of a test's own
    people only, and nothing lasts but jobs, schedules, mandates, notices and the audit log."""
    await shared_task_app.renew()
    return await shared_task_app.with_new_people() if has_own_people(request) else shared_task_app
