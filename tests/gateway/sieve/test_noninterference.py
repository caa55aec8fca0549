"""For random role matrices: all that a caller is shown is what they would be shown in a world without the rest.

Byte equality with such a world covers every name, argument, digest and count at once; names are searched for besides,
because the two worlds are rendered by the same code.
"""

import asyncio
import random
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import orjson
import pytest

from core.permissions import Policy, Role
from gateway.catalogue import Catalogue, build_catalogue
from gateway.lookup_recorder import MissingName
from gateway.mcp.authority import Authority
from gateway.mcp.request_context import RequestContext
from gateway.meta_tools.definitions import build_definitions, build_instructions
from gateway.meta_tools.get_module_schema import get_module_schema
from gateway.sieve.sieve import Sieve, SieveView
from modules.kit import Module
from tests.gateway.sieve.matrices import TENANTS, Matrix, matrices, permitted, speakable, spoken
from tests.support.tokens import tokens
from tests.support.toy_modules import crowd, without

MATRICES = 2_000
MATRICES_OF_LONG_FORM = 10_000
MODULES = 14  # more than the twelve that tools/list names


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return crowd(MODULES, 4)


@pytest.fixture(scope="module")
def drawn(catalogue: Catalogue) -> list[Matrix]:
    return list(matrices(catalogue, seed=20_261_121, number=MATRICES))


async def nobody_is_told(_context: RequestContext, _count: int, _missing: Sequence[MissingName]) -> None:
    return None


async def ready(_context: RequestContext, _module: Module) -> dict[str, str]:
    return {"connection": "ready"}


def request(matrix: Matrix) -> RequestContext:
    return RequestContext(Authority(matrix.caller()), "r", 0.0)


async def asked(view: SieveView, context: RequestContext, **params: Any) -> bytes:
    return orjson.dumps(await get_module_schema(view, context, params, nobody_is_told, ready))


async def shown(view: SieveView, context: RequestContext) -> bytes:
    """All that can be listed: the definitions, the modules, every module there might be."""
    everything = [f"m{number:02}q" for number in range(MODULES)]
    parts = [
        orjson.dumps(build_definitions(view)),
        build_instructions(view).encode(),
        await asked(view, context),
        await asked(view, context, module=everything),
        await asked(view, context, module=everything, tools=["t0000q", "l0101q", "t0503q", "t1302q"]),
        await asked(view, context, module=everything, have="0123456789abcdef"),
        await asked(view, context, query="who does y0503q and t1302q, what needs x0101q m07q", detail="names"),
    ]
    return b"\n".join(parts)


def run(work: Any) -> Any:
    return asyncio.run(work)


def test_the_matrices_are_no_trivial_ones(catalogue: Catalogue, drawn: list[Matrix]) -> None:
    sizes = [len(permitted(catalogue, matrix)) for matrix in drawn]
    assert sum(size == 0 for size in sizes) > MATRICES / 10
    assert sum(size > 10 for size in sizes) > MATRICES / 10
    assert len({frozenset(permitted(catalogue, matrix)) for matrix in drawn}) > MATRICES * 0.4
    assert {matrix.tenant for matrix in drawn} == set(TENANTS)


def test_what_is_shown_is_a_world_without_the_rest(catalogue: Catalogue, drawn: list[Matrix]) -> None:
    compare_with_worlds_of_their_own(catalogue, drawn)


@pytest.mark.long
def test_what_is_shown_to_very_many_is_a_world_without_the_rest(catalogue: Catalogue) -> None:
    compare_with_worlds_of_their_own(catalogue, list(matrices(catalogue, seed=7, number=MATRICES_OF_LONG_FORM)))


def compare_with_worlds_of_their_own(catalogue: Catalogue, drawn: list[Matrix]) -> None:
    async def compare() -> None:
        sieve = Sieve(catalogue)
        for matrix in drawn:
            allowed = permitted(catalogue, matrix)
            answer = await shown(sieve.get_view(matrix.caller()), request(matrix))
            assert answer == await in_a_world_of_its_own(catalogue, allowed, matrix), matrix
            assert spoken(answer) <= speakable(catalogue, allowed), matrix

    run(compare())


async def in_a_world_of_its_own(catalogue: Catalogue, allowed: set[tuple[str, str]], matrix: Matrix) -> bytes:
    world = without(catalogue, allowed)
    all_of_it = Policy((Role("all", 0, frozenset({"*"})),), frozenset(world.tools))
    caller = request(matrix).caller
    own = type(caller)(caller.credential, caller.email, caller.system_role, all_of_it)
    return await shown(Sieve(world).get_view(own), RequestContext(Authority(own), "r", 0.0))


def test_the_same_tools_have_the_same_digest_for_everyone(catalogue: Catalogue, drawn: list[Matrix]) -> None:
    sieve = Sieve(catalogue)
    known: dict[frozenset[str], str] = {}
    for matrix in drawn:
        for module in sieve.get_view(matrix.caller()).modules.values():
            tools = frozenset(one.tool.name for one in module.tools)
            assert known.setdefault(tools, module.digest) == module.digest
    assert len(set(known.values())) == len(known), "and other tools have another"


def test_every_replica_says_the_same(catalogue: Catalogue, drawn: list[Matrix]) -> None:
    shuffled = list(crowd(MODULES, 4).modules)
    random.Random(7).shuffle(shuffled)
    first, second = Sieve(catalogue), Sieve(build_catalogue(shuffled))

    async def compare() -> None:
        for matrix in drawn[::20]:
            answers = [await shown(sieve.get_view(matrix.caller()), request(matrix)) for sieve in (first, second)]
            assert answers[0] == answers[1]

    run(compare())


def test_finding_is_seeing(catalogue: Catalogue, drawn: list[Matrix]) -> None:
    """What a call finds is what the lists show: by name, by alias, and nothing else."""
    sieve = Sieve(catalogue)
    for matrix in drawn[::10]:
        view, allowed = sieve.get_view(matrix.caller()), permitted(catalogue, matrix)
        for module in catalogue.modules:
            for tool in module.tools:
                for name in (tool.name, *tool.aliases):
                    found = view.find(module.name, name)
                    assert (found is not None) == ((module.name, tool.name) in allowed)
                    assert found is None or found.tool.name == tool.name


def test_unchanged_takes_less_than_forty_tokens(catalogue: Catalogue, drawn: list[Matrix]) -> None:
    async def measure() -> Iterator[int]:
        found: list[int] = []
        sieve = Sieve(catalogue)
        for matrix in drawn[::100]:
            view = sieve.get_view(matrix.caller())
            have = {name: module.digest for name, module in view.modules.items()}
            for name, digest in have.items():
                answer = orjson.loads(await asked(view, request(matrix), module=name, have=digest))
                assert answer["structuredContent"]["modules"][0]["unchanged"] is True
                found.append(tokens(answer["content"][0]["text"]))
            if have:
                answer = orjson.loads(await asked(view, request(matrix), module=list(have), have=have))
                assert tokens(answer["content"][0]["text"]) < 40 * len(have)
        return iter(found)

    assert max(run(measure())) < 40


def test_equal_policies_share_a_view(catalogue: Catalogue) -> None:
    sieve = Sieve(catalogue)
    rows = [("allow", "m00q.*")]
    services = frozenset({"m00q"})
    one, other = (Matrix(UUID(int=n), (rows,), services, False).caller() for n in (1, 2))
    assert sieve.get_view(one) is sieve.get_view(other)
