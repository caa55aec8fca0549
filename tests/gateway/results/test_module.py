"""What a model reads of the module ``results``: short, because it is read beside a large answer."""

from typing import Any, cast

import orjson

from gateway.catalogue import build_catalogue, check_schemas
from gateway.results.module import build_results_module
from gateway.sieve.tool_listings import ToolListings
from tests.support.tokens import tokens

MOST_TOKENS = 750


def test_its_tools_are_checked_as_all_are_and_short() -> None:
    catalogue = build_catalogue([build_results_module(cast("Any", None))])
    check_schemas(catalogue)
    listings = [ToolListings().get(tool) for tool in catalogue.tools["results"]]
    assert [one["name"] for one in listings] == ["read_result", "search_result", "show_content"]
    assert all("read-only" in one["hints"] for one in listings)
    assert tokens(orjson.dumps(listings).decode()) <= MOST_TOKENS
    assert listings[0]["returns"].startswith("{untrusted?: str, kind: str, total?: int")
