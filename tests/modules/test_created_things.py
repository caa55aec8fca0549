"""docs/modules/created-things.md: what a tool can make, other tools can read, change and remove."""

import re
from pathlib import Path

import pytest

from gateway.catalogue import load_installed_modules

PAGE = Path(__file__).parents[2] / "docs" / "modules" / "created-things.md"
NAMES = {
    module.name: {name: tool for tool in module.tools for name in (tool.name, *tool.aliases)}
    for module in load_installed_modules().modules
    if module.vendor
}
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text().splitlines()
    if line.startswith("| ") and not line.startswith("| module")
]


def list_tools(cell: str) -> list[str]:
    return re.findall(r"`(\w+)`", cell)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{row[1]}")
def test_each_row_names_tools_that_exist(row: list[str]) -> None:
    module, _, *cells = row
    assert len(cells) == 4
    assert all(cells), "a cell names a tool or a reason"
    for name in (name for cell in cells for name in list_tools(cell)):
        assert name in NAMES[module], name
    made, read = cells[:2]
    assert all(not NAMES[module][name].hints.read_only for name in list_tools(made))
    assert list_tools(read)
    assert all(NAMES[module][name].hints.read_only for name in list_tools(read))


@pytest.mark.parametrize("module", NAMES)
def test_nothing_is_made_that_the_table_lacks(module: str) -> None:
    """What adds, by its hints or its name, stands in the table; what changes, in one of its cells."""
    rows = [row for row in ROWS if row[0] == module]
    made = {name for row in rows for name in list_tools(row[2])}
    known = {name for row in rows for cell in row[2:] for name in list_tools(cell)}
    for name, tool in NAMES[module].items():
        adds = not tool.hints.read_only and not tool.hints.destructive
        if name.startswith(("create_", "add_", "upload_")) or (adds and name not in OF_ITSELF):
            assert name in made, name
        elif not tool.hints.read_only and name not in OF_ITSELF:
            assert name in known, name


OF_ITSELF = {
    "restore_project", "update_storage_config", "merge_pull_request", "update_pull_request_branch",
    "mark_notification_read",
}  # fmt: skip
"""Tools that change something which no tool makes, or the state of something."""


@pytest.mark.parametrize("module", NAMES)
def test_what_others_made_is_not_deleted_with_it(module: str) -> None:
    shape = re.compile(r"(delete|remove|drop|clear)_(project|repository|repo|organi[sz]ation|space|workspace)s?$")
    assert not [name for name in NAMES[module] if shape.fullmatch(name)]
