"""How the matrix judges what a client gave, and how its table is kept."""

import datetime
from pathlib import Path

from tests.clients.matrix.plan import CHECKS, NO, UNSUPPORTED, UNTRIED, YES, Cell, judge
from tests.clients.matrix.table import BEGIN, END, build_row, build_skipped_row, write_rows

DAY = datetime.date(2026, 11, 28)
GREETS = {"text": "Hello, Ada!", "error": False}


def test_a_hidden_tool_is_told_of_as_a_made_up_one() -> None:
    same = {"hidden": {"text": "no such tool", "error": True}, "made_up": {"text": "no such tool", "error": True}}
    assert judge("meta", same)["hidden"] == Cell(YES)
    names = {"hidden": {"text": "no such tool: image_content"}, "made_up": {"text": "no such tool: made_up_tool"}}
    assert judge("plain", names)["hidden"] == Cell(YES)
    told = {**same, "hidden": {"text": "you may not use this", "error": True}}
    assert judge("meta", told)["hidden"].result == NO
    answered = {"hidden": {"text": "an image", "error": False}, "made_up": {"text": "an image", "error": False}}
    assert judge("meta", answered)["hidden"].result == NO


def test_what_a_client_cannot_do_is_no_pass() -> None:
    cells = judge("meta", {"call": GREETS, "prompt": {"unsupported": "nothing for it"}, "batch": {"not_listed": True}})
    assert cells["call"] == Cell(YES)
    assert cells["prompt"] == Cell(UNSUPPORTED, "nothing for it")
    assert (cells["batch"].result, cells["schema"].result) == (NO, NO)
    untried = judge("meta", {"prompt": {"untried": "its screen"}})["prompt"]
    assert untried == Cell(UNTRIED, "its screen")
    waited = {"task": {"text": "computed Ada", "error": False, "native": False}}
    assert judge("meta", waited)["task"] == Cell(UNSUPPORTED, "the call waits")
    refused = judge("plain", {"connect": {"error": True, "text": "401"}})
    assert {cell.result for cell in refused.values()} == {NO}


def test_rows_take_the_place_of_older_ones(tmp_path: Path) -> None:
    page = tmp_path / "clients.md"
    page.write_text(f"before\n{BEGIN}\n{END}\nafter\n")
    yes: dict[str, Cell] = dict.fromkeys(CHECKS, Cell(YES))
    good = {"meta": yes, "plain": yes}
    mixed = {**good, "plain": {**yes, "task": Cell(UNSUPPORTED, "a|b")}}
    order = ["one", "two"]
    write_rows([build_skipped_row("two", "1", DAY, "token", "no way to it")], order, page)
    write_rows([build_row("one", "1", DAY, "OAuth", mixed), build_row("one", "1", DAY, "token", good)], order, page)
    write_rows([build_row("two", "2", DAY, "token", good)], order, page)
    before, *table, after = [line for line in page.read_text().splitlines() if line and not line.startswith("<!--")]
    assert (before, after) == ("before", "after")
    rows = [line.split(" | ") for line in table[2:]]
    assert [(row[0], row[1], row[3], row[4]) for row in rows] == [
        ("| one", "1", "token", YES),
        ("| one", "1", "OAuth", YES),
        ("| two", "2", "token", YES),
    ]
    assert "meta yes, plain not supported | task: a\\|b |" in table[3]
