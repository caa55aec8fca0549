"""What every client loads at its start: instructions and three definitions within a budget, whatever is behind them."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from gateway.catalogue import MAX_LINE_LENGTH, Catalogue, load_installed_modules
from gateway.meta_tools.definitions import MAX_LISTED_MODULES, build_definitions, build_instructions
from gateway.sieve.sieve import Sieve, SieveView
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


def view_of(catalogue: Catalogue, *permissions: str) -> SieveView:
    """What somebody with one role that allows that sees."""
    rows = [("allow", permission) for permission in permissions]
    matrix = Matrix(TENANTS[0], (rows,), frozenset(catalogue.tools), False)
    return Sieve(catalogue).get_view(matrix.caller())


def size(view: SieveView) -> int:
    """Tokens of tools/list and instructions together."""
    return tokens(orjson.dumps(build_definitions(view, has_tasks=True)).decode()) + tokens(build_instructions(view))


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
    assert len(LINES) == MAX_LISTED_MODULES
    view = view_of(named(crowd(12, 2), LINES), "*")
    assert all(f"- {name}: {line}" in build_instructions(view) for name, line in LINES.items())
    assert size(view) <= BUDGET


def test_the_longest_lines_that_the_catalogue_takes_fit_too() -> None:
    line = "Reads, writes and searches the documents of a company whose people like long, winding descriptions of all."
    line = line.ljust(MAX_LINE_LENGTH, ".")
    view = view_of(named(crowd(12, 2), dict.fromkeys(LINES, line)), "*")
    assert build_instructions(view).count(line) == 12
    assert size(view) <= BUDGET


def test_ten_and_ten_thousand_tools_are_told_alike() -> None:
    ten = crowd(10, 1)
    many = multiplied(ten, 1_000)
    assert sum(map(len, many.tools.values())) == 10_000
    few, all_of_them = view_of(ten, "*"), view_of(many, "*")
    assert orjson.dumps(build_definitions(few)) == orjson.dumps(build_definitions(all_of_them))
    assert build_instructions(few) == build_instructions(all_of_them)


@pytest.mark.parametrize("modules", [13, 40, 99])
def test_beyond_twelve_modules_there_is_a_pointer(modules: int) -> None:
    view = view_of(crowd(modules, 1), "*")
    lines = build_instructions(view).split("Modules:\n")[1].split("\n")
    assert len(lines) == MAX_LISTED_MODULES + 1
    assert lines[-1] == f"- and {modules - 12} more: get_module_schema without `module` lists all"
    names = build_definitions(view)["tools"][0]["description"].split("Modules: ")[1]
    assert names == f"{', '.join(f'm{n:02}q' for n in range(12))} and {modules - 12} more"
    assert size(view) <= BUDGET


def test_whoever_may_use_nothing_is_told_whom_to_ask() -> None:
    view = view_of(crowd(3, 1))
    assert build_instructions(view).endswith("Modules:\n- none yet: the user's administrator gives them a role")
    assert build_definitions(view)["tools"][0]["description"].endswith("Modules: none yet")


def test_nothing_is_said_twice() -> None:
    """Clients show a model both; a module's line is in the instructions, its name alone in the description."""
    view = view_of(named(crowd(12, 2), LINES), "*")
    listed = orjson.dumps(build_definitions(view)).decode()
    assert not [line for line in LINES.values() if line in listed]
    assert all(name in listed for name in LINES)


def test_the_three_tools_in_their_order_with_hints_and_schemas() -> None:
    tools: list[dict[str, Any]] = build_definitions(view_of(load_installed_modules(), "*"))["tools"]
    assert [tool["name"] for tool in tools] == ["get_module_schema", "call", "batch"]
    assert [tool["annotations"]["readOnlyHint"] for tool in tools] == [True, False, False]
    for tool in tools:
        assert tool["inputSchema"]["additionalProperties"] is False
        # A tool may answer with content alone, and clients refuse that from `call` where it has an output schema.
        assert tool.get("outputSchema", {}).get("type") == (None if tool["name"] == "call" else "object")
