"""Built-in modules exist for everyone, and are seen nowhere unless they are asked for by name."""

import pytest

from core.permissions import Policy
from gateway.catalogue import Catalogue, build_catalogue
from gateway.meta_tools.definitions import build_definitions, build_instructions
from gateway.settings_form import CatalogueError
from gateway.sieve.sieve import Sieve
from tests.support.toy_modules import Lab, crowd

BUILT_IN = build_catalogue([Lab().module()])


def sieves(catalogue: Catalogue) -> list[Sieve]:
    return [Sieve(catalogue), Sieve(catalogue, BUILT_IN)]


@pytest.mark.parametrize("services", [(), ("m00q", "m01q")])
@pytest.mark.parametrize("only_reading", [False, True])
def test_nothing_that_is_listed_differs(services: tuple[str, ...], only_reading: bool) -> None:
    policy = Policy((), frozenset(services))
    bare, with_built_in = (sieve.get_policy_view(policy, only_reading=only_reading) for sieve in sieves(crowd(2, 2)))
    assert build_definitions(bare) == build_definitions(with_built_in)
    assert build_instructions(bare) == build_instructions(with_built_in)
    assert "lab" not in with_built_in.modules


def test_it_exists_without_a_role_and_a_service() -> None:
    bare, with_built_in = (sieve.get_policy_view(Policy((), frozenset())) for sieve in sieves(crowd(2, 2)))
    assert bare.find("lab", "look") is None
    assert bare.find_module("lab") is None
    for name in ("look", "lab_look", "write"):
        assert with_built_in.find("lab", name) is not None
    assert with_built_in.find("m00q", "t0000q") is None
    module = with_built_in.find_module("lab")
    assert module is not None
    assert "write" in module.schemas


def test_its_writing_tools_do_not_exist_for_a_credential_that_only_reads() -> None:
    view = Sieve(crowd(2, 2), BUILT_IN).get_policy_view(Policy((), frozenset()), only_reading=True)
    assert view.find("lab", "look") is not None
    assert view.find("lab", "write") is None


def test_no_module_takes_its_name() -> None:
    with pytest.raises(CatalogueError, match="lab"):
        Sieve(BUILT_IN, BUILT_IN)
