"""For random role matrices: what a caller is shown, reads, fills in and completes, and every error, is what it would be
in a world without the resources and prompts that they may not use."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, cast

import orjson
import pytest

from core.caller import Caller
from core.permissions import Policy, Role
from core.secret import Secret
from gateway.argument_validation import validate_arguments
from gateway.capabilities.completions import CompletionMethods
from gateway.capabilities.paging import ListPages
from gateway.capabilities.prompts import PromptMethods
from gateway.capabilities.resources import ResourceMethods
from gateway.catalogue import Catalogue, CatalogueTool
from gateway.lookup_recorder import MissingName
from gateway.mcp.authority import Authority
from gateway.mcp.request_context import Handler, ProtocolError, RequestContext
from gateway.sieve.sieve import Sieve
from gateway.tool_runner import NO_SUCH_TOOL, ToolOutcome, ToolRunner
from tests.gateway.sieve.matrices import Matrix, matrices, permitted, speakable, spoken
from tests.support.toy_modules import crowd_with_capabilities, without_capabilities

MATRICES = 500
MATRICES_OF_LONG_FORM = 10_000
MODULES = 6
LISTS = ("resources/list", "resources/templates/list", "prompts/list")

Request = tuple[str, dict[str, Any]]


class _UnrecordedRunner:
    """Runs what the sieve permits, without an account, a limit or a record; it counts the names that do not exist."""

    def __init__(self, sieve: Sieve) -> None:
        self._sieve = sieve
        self.missing = 0

    async def run(
        self, request: RequestContext, module: str, name: str, params: dict[str, Any], reader: CatalogueTool
    ) -> ToolOutcome:
        if not self._sieve.get_view(request.caller).has(reader):
            return ToolOutcome(error=NO_SUCH_TOOL)
        model = validate_arguments(reader, orjson.dumps(params))
        return ToolOutcome(await reader.tool.run(cast("Any", None), **model.__dict__))

    async def record_lookups(self, _request: RequestContext, _count: int, missing: Sequence[MissingName]) -> None:
        self.missing += len(missing)


class _World:
    """The handlers of one catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.sieve = Sieve(catalogue)
        self.runner = _UnrecordedRunner(self.sieve)
        runner, pages = cast("ToolRunner", self.runner), ListPages(Secret("key"))
        parts = [
            ResourceMethods(self.sieve, runner, pages),
            PromptMethods(self.sieve, runner, pages),
            CompletionMethods(self.sieve, runner),
        ]
        self._handlers: Mapping[str, Handler] = {
            name: run for part in parts for name, run in part.get_handlers().items()
        }

    async def answer(self, caller: Caller, request: Request) -> bytes:
        """The result or the error, as JSON."""
        method, params = request
        try:
            return orjson.dumps(await self._handlers[method](RequestContext(Authority(caller), "r", 0.0), params))
        except ProtocolError as error:
            return orjson.dumps([error.code, error.message, error.data])


def list_requests(catalogue: Catalogue) -> list[Request]:
    """Everything that can be asked for about any of a catalogue."""
    requests: list[Request] = [(method, {}) for method in LISTS]
    for resource in (one for of_module in catalogue.resources.values() for one in of_module):
        template = resource.resource.uris[0]
        requests.append(("resources/read", {"uri": template.partition("{")[0] + ("x" if "{" in template else "")}))
        requests += _complete({"type": "ref/resource", "uri": template}, resource.tool)
    for prompt in (one for of_module in catalogue.prompts.values() for one in of_module):
        arguments = dict.fromkeys(prompt.prompt.arguments.model_fields, "x")
        requests += [("prompts/get", {"name": prompt.prompt.name, "arguments": given}) for given in (arguments, {})]
        requests += _complete({"type": "ref/prompt", "name": prompt.prompt.name}, prompt.tool)
    return requests


def _complete(ref: dict[str, str], tool: CatalogueTool) -> list[Request]:
    names = [*tool.tool.arguments.model_fields, "none"]
    return [("completion/complete", {"ref": ref, "argument": {"name": name, "value": "c"}}) for name in names]


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return crowd_with_capabilities(MODULES)


async def compare_worlds(catalogue: Catalogue, drawn: Sequence[Matrix]) -> None:
    whole, requests, sizes = _World(catalogue), list_requests(catalogue), set[int]()
    for number, matrix in enumerate(drawn):
        allowed = permitted(catalogue, matrix)
        own = without_capabilities(catalogue, allowed)
        alone, caller = _World(own), matrix.caller()
        everything = Policy((Role("all", 0, frozenset({"*"})),), frozenset(own.tools))
        theirs = type(caller)(caller.credential, caller.email, caller.system_role, everything)
        asked = requests[:3] + requests[3 + number % 5 :: 5]
        sizes.add(sum(name[0] in "sep" for _, name in allowed))
        for request in asked:
            answer = await whole.answer(caller, request)
            assert answer == await alone.answer(theirs, request), (matrix, request)
            said = spoken(answer) - spoken(orjson.dumps(request))  # an error repeats the URI that was asked for
            assert said <= speakable(catalogue, allowed) | _completions(allowed), (matrix, request)
        assert whole.runner.missing == alone.runner.missing, "and as much is recorded"
        whole.runner.missing = 0
    assert len(sizes) > 10, "from nothing to much: what is compared is not empty"


def _completions(allowed: set[tuple[str, str]]) -> set[bytes]:
    return {f"c{name[1:]}".encode() for _, name in allowed} | {f"c{name[1:3]}02q".encode() for _, name in allowed}


def test_no_answer_tells_of_what_is_hidden(catalogue: Catalogue) -> None:
    asyncio.run(compare_worlds(catalogue, list(matrices(catalogue, seed=20_261_127, number=MATRICES))))


@pytest.mark.long
def test_no_answer_tells_very_many_of_what_is_hidden(catalogue: Catalogue) -> None:
    asyncio.run(compare_worlds(catalogue, list(matrices(catalogue, seed=17, number=MATRICES_OF_LONG_FORM))))


def test_what_is_listed_can_be_read_and_nothing_else(catalogue: Catalogue) -> None:
    """By the oracle, which is written otherwise than the sieve."""

    async def compare() -> None:
        world = _World(catalogue)
        for matrix in matrices(catalogue, seed=18, number=100):
            allowed = permitted(catalogue, matrix)
            for one in (one for of_module in catalogue.resources.values() for one in of_module):
                prefix, _, variable = one.resource.uris[0].partition("{")
                read = await world.answer(
                    matrix.caller(), ("resources/read", {"uri": prefix + ("x" if variable else "")})
                )
                assert read.startswith(b'{"contents"') == ((one.tool.module, one.tool.name) in allowed)

    asyncio.run(compare())
