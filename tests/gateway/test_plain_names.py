"""Plain names follow from a tool's own module: no other module changes them."""

import re
from collections.abc import Sequence
from typing import Any

import pytest

from core.names import MODULE_NAME_PATTERN
from gateway.catalogue import CatalogueError, CatalogueTool, build_catalogue, load_installed_modules
from gateway.plain_view.names import META_TOOLS, assign_plain_names
from modules.kit import Context, Module, Tool, tool
from tests.support.toy_modules import READS, Said


def made(name: str, *aliases: str) -> Tool:
    async def run(context: Context) -> Said:
        """Do something."""
        return Said(said="")

    run.__name__ = name
    return tool(hints=READS, scopes=["toy"], aliases=aliases)(run)


def tools_of(*modules: Module) -> list[Sequence[CatalogueTool]]:
    catalogue = build_catalogue(modules)
    return [catalogue.tools[module.name] for module in catalogue.modules]


def module(name: str, *tools: Tool, **options: Any) -> Module:
    return Module(name, name, "One line.", frozenset({"toy"}), tools, **options)


def names(*modules: Module) -> dict[str, str]:
    """The plain names by the tools' full names."""
    return {tool.full_name: name for name, tool in assign_plain_names(tools_of(*modules)).items()}


DOCS = module("docs", made("find", "search_docs"), made("get"), made("call_all", "call"), made("long" * 15, "x" * 63))


def test_names_are_aliases_or_those_of_module_and_tool() -> None:
    found = names(DOCS)
    assert found.pop(f"docs.{'long' * 15}") == "x" * 63
    assert found == {"docs.find": "search_docs", "docs.get": "docs_get", "docs.call_all": "docs_call_all"}


def test_a_name_that_is_too_long_ends_with_a_digest() -> None:
    tool_name = "a" * 63
    (name,) = names(module("docs", made(tool_name))).values()
    assert len(name) == 64
    assert re.fullmatch(r"docs_a+_[0-9a-f]{8}", name)


def test_within_a_module_a_tool_s_own_name_is_before_an_alias() -> None:
    found = names(module("kg", made("find", "kg_search"), made("search")))
    assert found == {"kg.find": "kg_find", "kg.search": "kg_search"}


@pytest.mark.parametrize("other", ["a", "dodo", "zoo"])
def test_a_further_module_renames_nothing(other: str) -> None:
    before = names(DOCS)
    after = names(DOCS, module(other, made("get"), made("find", f"{other}_docs")))
    assert before.items() <= after.items()
    assert len(after) == len(before) + 2


@pytest.mark.parametrize(
    "other",
    [module("a", made("find", "search_docs")), module("search", made("docs")), module("zoo", made("x", "docs_get"))],
)
def test_modules_that_share_a_name_are_not_installed_together(other: Module) -> None:
    with pytest.raises(CatalogueError, match=r"docs\.\w+ .*as plain tools"):
        names(DOCS, other)


def test_a_module_s_document_may_have_its_names_alone() -> None:
    notes = module("notes", made("find", "search_docs"), made("call"), has_plain_names=True)
    assert names(notes) == {"notes.find": "find", "notes.call": "notes_call"}
    assert names(notes, module("other", made("find"))) == names(notes) | {"other.find": "other_find"}


@pytest.mark.parametrize(
    "other",
    [
        module("other", made("get_doc"), has_plain_names=True),
        module("other", made("read", "get_doc")),
        module("get", made("doc")),
    ],
)
def test_no_module_takes_a_name_of_a_document(other: Module) -> None:
    """Neither by its own names, nor by an alias, nor by that of module and tool: the text says who."""
    notes = module("notes", made("get_doc"), has_plain_names=True)
    for installed in ((notes, other), (other, notes)):
        with pytest.raises(CatalogueError, match=r"get_doc as plain tools; uninstall one of the modules"):
            names(*installed)


DOCUMENTED = {
    "rag": ["search_docs", "search_keyword", "get_doc", "list_tags", "list_docs_by_tag", "index_doc", "delete_doc"],
    "memo": ["save_memo", "query_memo", "get_memo", "delete_memo", "healthcheck"],
}


def test_the_installed_ones_fit_together() -> None:
    catalogue = load_installed_modules()
    found = assign_plain_names(catalogue.tools[module.name] for module in catalogue.modules)
    for owner, documented in DOCUMENTED.items():
        assert {name: found[name].full_name for name in documented} == {one: f"{owner}.{one}" for one in documented}
    assert len(found) == sum(len(tools) for tools in catalogue.tools.values())
    assert all(MODULE_NAME_PATTERN.fullmatch(name) and name not in META_TOOLS for name in found)
