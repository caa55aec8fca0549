"""What is prepared for a caller says at every time what the sieve says: of callers with one and the same credential,
whose rights change between any two calls."""

from dataclasses import replace

import pytest

from core.audit.digest import compute_argument_digest
from core.audit.event import build_intent_event
from core.caller import Caller
from core.scopes import READ, WRITE
from core.secret import Secret
from gateway.caller_tools import MAX_CALLER_TOOLS, CallerTools
from gateway.catalogue import Catalogue
from gateway.sieve.sieve import Sieve
from tests.gateway.sieve.matrices import matrices, permitted
from tests.support.toy_modules import crowd

KEY = Secret("0123456789abcdef0123456789abcdef")
CHANGES = 300


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return crowd(14, 4)


def names(catalogue: Catalogue) -> list[tuple[str, str]]:
    return [(module, tool.name) for module, tools in catalogue.tools.items() for tool in tools]


def with_scopes(caller: Caller, *scopes: str) -> Caller:
    return replace(caller, credential=replace(caller.credential, scopes=frozenset(scopes)))


def test_nothing_that_was_found_outlives_the_rights_that_it_was_found_for(catalogue: Catalogue) -> None:
    found, everything = CallerTools(Sieve(catalogue), KEY), names(catalogue)
    for matrix in matrices(catalogue, seed=20_261_124, number=CHANGES):
        caller = matrix.caller()
        for _ in range(2):  # the second time it is prepared
            seen = {name for name in everything if found.find(caller, *name) is not None}
            assert seen == permitted(catalogue, matrix)


def test_a_scope_counts_as_long_as_the_caller_has_it(catalogue: Catalogue) -> None:
    found = CallerTools(Sieve(catalogue), KEY)
    matrix = next(one for one in matrices(catalogue, seed=1, number=500) if len(permitted(catalogue, one)) > 8)
    for name in permitted(catalogue, matrix):
        reads = next(tool.read_only for tool in catalogue.tools[name[0]] if tool.name == name[1])
        for scopes, expected in (((WRITE,), True), ((READ,), reads), ((), False), ((READ, WRITE), True)):
            caller_tool = found.find(with_scopes(matrix.caller(), *scopes), *name)
            assert caller_tool is not None
            assert caller_tool.has_scope is expected


def test_each_call_has_a_digest_and_a_record_of_its_own(catalogue: Catalogue) -> None:
    matrix = next(one for one in matrices(catalogue, seed=1, number=500) if permitted(catalogue, one))
    caller, name = matrix.caller(), min(permitted(catalogue, matrix))
    caller_tool = CallerTools(Sieve(catalogue), KEY).find(caller, *name)
    assert caller_tool is not None
    for arguments in (b"{}", b'{"a":1}', b"{}"):
        assert caller_tool.compute_digest(arguments) == compute_argument_digest(KEY, caller.tenant_id, arguments)
    records = [build_intent_event(caller_tool.intent, n, f"r{n}", "a client", b"digest") for n in range(3)]
    assert len({record.id for record in [caller_tool.intent, *records]}) == 4
    assert {(one.tenant_id, one.user_id, one.credential_id, one.module, one.tool, one.kind) for one in records} == {
        (caller.tenant_id, caller.user_id, caller.credential.id, *name, "call.intent")
    }
    assert [(one.at, one.request_id, one.client) for one in records] == [(n, f"r{n}", "a client") for n in range(3)]


def test_what_is_kept_is_bounded(catalogue: Catalogue) -> None:
    found = CallerTools(Sieve(catalogue), KEY)
    matrix = next(one for one in matrices(catalogue, seed=1, number=500) if permitted(catalogue, one))
    name, caller = min(permitted(catalogue, matrix)), matrix.caller()
    for number in range(MAX_CALLER_TOOLS + 10):
        other = replace(caller, credential=replace(caller.credential, id=f"c{number}"))
        assert found.find(other, *name) is not None
    assert len(found) == MAX_CALLER_TOOLS
