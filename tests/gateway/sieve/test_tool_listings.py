"""Listings of tools are built late, once, and shared."""

from core.permissions import Policy, Role
from gateway.catalogue import Catalogue, build_catalogue, load_installed_modules
from gateway.sieve.sieve import Sieve
from gateway.sieve.tool_listings import ToolListings
from modules.kit import Module, Tool, tool
from tests.gateway.sieve.test_catalogue import READS, good


def make_catalogue() -> Catalogue:
    made: Tool = tool(hints=READS, scopes=["toy"])(good)
    return build_catalogue([Module("toy", "Toy", "One line.", frozenset({"toy"}), (made,))])


def test_nothing_is_built_before_it_is_used_and_then_all_of_it() -> None:
    (entry,) = make_catalogue().tools["toy"]
    assert not entry.tool.arguments.__pydantic_complete__
    listings = ToolListings()
    listings.prepare(entry)
    assert entry.tool.arguments.__pydantic_complete__
    assert listings.get(entry) is listings.get(entry)
    assert listings.get(entry)["params"]["properties"]["text"]["type"] == "string"


def test_every_installed_tool_can_be_prepared() -> None:
    listings = ToolListings()
    for entry in (entry for tools in load_installed_modules().tools.values() for entry in tools):
        listings.prepare(entry)
        assert entry.tool.arguments.__pydantic_complete__
        assert entry.tool.result.__pydantic_complete__


def test_callers_with_different_permissions_share_listings() -> None:
    sieve = Sieve(make_catalogue())
    roles = (Role("all", allow=frozenset({"*"})), Role("toy", allow=frozenset({"toy.*"})))
    views = [sieve.get_policy_view(Policy((role,), frozenset({"toy"}))).modules["toy"] for role in roles]
    assert views[0].schemas["good"] is views[1].schemas["good"]
