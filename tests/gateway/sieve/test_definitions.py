"""What every client loads at its start: three definitions within a budget, whatever there is behind them."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from gateway.catalogue import MOST_LINE, Catalogue, installed
from gateway.meta_tools.definitions import MOST_MODULES, definitions
from gateway.sieve.sieve import Sieve
from tests.gateway.sieve.matrices import TENANTS, Matrix
from tests.support.tokens import tokens
from tests.support.toy_modules import crowd

BUDGET = 900
# The services of the design, with lines as long as such a module would have.
LINES = {
    "activity": "Toggl entries and daily activity: what was worked on, when and for how long.",
    "confluence": "Confluence pages and spaces: search, read, create, update and comment.",
    "github": "GitHub repositories, issues, pull requests, code search, actions and releases.",
    "google_calendar": "Google Calendar: list, create, move and answer events; find free time.",
    "jira": "Jira issues, boards and sprints: search with JQL, create, transition, comment.",
    "knowledge_graph": "Your own long-term memory: entities, facts about them, and how they relate.",
    "mail": "Mail in your own mailbox: search, read, draft, send and label messages.",
    "microsoft_todo": "Microsoft To Do: lists and tasks with due dates, steps and reminders.",
    "notion": "Notion pages and databases: search, read, create, update and query.",
    "rag": "Documents of your company: search by meaning or by words, and read passages.",
    "slack": "Slack channels and threads: search, read, post and react.",
    "supabase": "Supabase projects: tables, SQL, migrations, edge functions and logs.",
}


def listed(catalogue: Catalogue, *permissions: str) -> dict[str, Any]:
    """tools/list for somebody with one role that allows that."""
    rows = [("allow", permission) for permission in permissions]
    matrix = Matrix(TENANTS[0], (rows,), frozenset(catalogue.tools), False)
    return definitions(Sieve(catalogue).view(matrix.caller()))


def size(result: dict[str, Any]) -> int:
    return tokens(orjson.dumps(result).decode())


def named(catalogue: Catalogue, lines: dict[str, str]) -> Catalogue:
    """The catalogue's first modules under other names."""
    pairs = [(old.name, replace(old, name=name, description=line))
             for old, (name, line) in zip(catalogue.modules, lines.items(), strict=False)]  # fmt: skip
    return Catalogue(
        tuple(module for _, module in pairs),
        {new.name: tuple(replace(one, owner=new) for one in catalogue.tools[old]) for old, new in pairs},
    )


def multiplied(catalogue: Catalogue, times: int) -> Catalogue:
    """Every tool that often, under other names."""
    tools = {
        name: tuple(
            replace(one, tool=replace(one.tool, name=f"{one.tool.name}{n}", aliases=()))
            for one in of_module
            for n in range(times)
        )
        for name, of_module in catalogue.tools.items()
    }
    modules = (replace(module, tools=tuple(one.tool for one in tools[module.name])) for module in catalogue.modules)
    return Catalogue(tuple(modules), tools)


def test_twelve_modules_fit_the_budget() -> None:
    assert len(LINES) == MOST_MODULES
    result = listed(named(crowd(12, 2), LINES), "*")
    assert all(f"- {name}: {line}" in result["tools"][0]["description"] for name, line in LINES.items())
    assert size(result) <= BUDGET


def test_the_longest_lines_that_the_catalogue_takes_fit_too() -> None:
    line = "Reads, writes and searches the documents of a company whose people like long, winding descriptions of all."
    line = line.ljust(MOST_LINE, ".")
    longest = dict.fromkeys(LINES, line)
    result = listed(named(crowd(12, 2), longest), "*")
    assert result["tools"][0]["description"].count(line) == 12
    assert size(result) <= BUDGET


def test_ten_and_ten_thousand_tools_are_listed_alike() -> None:
    ten = crowd(10, 1)
    many = multiplied(ten, 1_000)
    assert sum(map(len, many.tools.values())) == 10_000
    assert orjson.dumps(listed(ten, "*")) == orjson.dumps(listed(many, "*"))


@pytest.mark.parametrize("modules", [13, 40, 99])
def test_beyond_twelve_modules_there_is_a_pointer(modules: int) -> None:
    result = listed(crowd(modules, 1), "*")
    lines = result["tools"][0]["description"].split("Modules:\n")[1].split("\n")
    assert len(lines) == MOST_MODULES + 1
    assert lines[-1] == f"- and {modules - 12} more: call this without `module` for all names"
    assert size(result) <= BUDGET


def test_whoever_may_use_nothing_is_told_whom_to_ask() -> None:
    description = listed(crowd(3, 1))["tools"][0]["description"]
    assert description.endswith("Modules:\n- none yet: ask your administrator for a role")


def test_the_three_tools_in_their_order_with_hints_and_schemas() -> None:
    tools = listed(installed(), "*")["tools"]
    assert [tool["name"] for tool in tools] == ["get_module_schema", "call", "batch"]
    assert [tool["annotations"]["readOnlyHint"] for tool in tools] == [True, False, False]
    for tool in tools:
        assert tool["inputSchema"]["additionalProperties"] is False
        assert tool["outputSchema"]["type"] == "object"
