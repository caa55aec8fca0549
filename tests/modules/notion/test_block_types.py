"""Every type of block that Notion describes: as Markdown and back, also beside a neighbour that is changed."""

from typing import Any

import pytest

from modules.kit import ToolError
from modules.notion.block_formatting import format_block, format_blocks
from modules.notion.block_parsing import parse_markdown
from tests.support.vendor_contract import contract

Json = dict[str, Any]
BLOCK_ID = "1f3870be-274f-46c4-9f0a-6f0b3d1b5a7e"
PAGE_ID = "2f3870be-274f-46c4-9f0a-6f0b3d1b5a7e"
MOMENT = "2026-05-14T09:26:00.000Z"


def rich(text: str, **marks: bool) -> list[Json]:
    """A rich text as Notion answers it."""
    plain = {"bold": False, "italic": False, "strikethrough": False, "underline": False, "code": False}
    return [
        {
            "type": "text", "text": {"content": text, "link": None}, "plain_text": text, "href": None,
            "annotations": {**plain, "color": "default", **marks},
        }
    ]  # fmt: skip


TEXT = {"rich_text": rich("予算 a*b", bold=True), "color": "red"}
OF_A_FILE = {"type": "external", "external": {"url": "https://a.test/x_(y).bin"}, "caption": rich("cap")}
MEETING = {"title": rich("Standup"), "status": "notes_ready"}

MADE: dict[str, Json] = {
    "paragraph": {**TEXT, "icon": None},
    **{f"heading_{level}": {**TEXT, "is_toggleable": level == 2} for level in (1, 2, 3, 4)},
    "bulleted_list_item": TEXT,
    "numbered_list_item": {**TEXT, "list_start_index": 4, "list_format": "letters"},
    "quote": TEXT,
    "to_do": {**TEXT, "checked": True},
    "toggle": TEXT,
    "template": {"rich_text": rich("Add a task")},
    "synced_block": {"synced_from": {"type": "block_id", "block_id": PAGE_ID}},
    "equation": {"expression": "x^2"},
    "code": {"rich_text": rich("x = 1\n"), "caption": rich("an example"), "language": "python"},
    "callout": {**TEXT, "icon": {"type": "emoji", "emoji": "💡"}},
    "divider": {},
    "breadcrumb": {},
    "table_of_contents": {"color": "gray"},
    "link_to_page": {"type": "page_id", "page_id": PAGE_ID},
    "table_row": {"cells": [rich("a|b"), rich("c")]},
    "embed": {"url": "https://a.test/", "caption": rich("cap")},
    "bookmark": {"url": "https://a.test/", "caption": []},
    "image": OF_A_FILE,
    "video": OF_A_FILE,
    "pdf": OF_A_FILE,
    "audio": OF_A_FILE,
    "file": {**OF_A_FILE, "name": "x.bin"},
}
"""What a request can make."""

NEVER_MADE: dict[str, Json] = {
    "child_page": {"title": "Plan"},
    "child_database": {"title": "Tasks"},
    "meeting_notes": MEETING,
    "transcription": MEETING,
    "link_preview": {"url": "https://a.test/"},
    "unsupported": {"block_type": "form"},
}
HOLDERS: dict[str, Json] = {
    "tab": {},
    "column_list": {},
    "column": {"width_ratio": 0.5},
    "table": {"table_width": 2, "has_column_header": True, "has_row_header": True},
}
"""What a request makes with what stands in it only, which is read by the block's id."""


def answer(kind: str, content: Json) -> Json:
    """A block as Notion answers it."""
    user = {"object": "user", "id": PAGE_ID}
    block = {
        "object": "block", "id": BLOCK_ID, "parent": {"type": "page_id", "page_id": PAGE_ID}, "type": kind,
        "created_time": MOMENT, "last_edited_time": MOMENT, "created_by": user, "last_edited_by": user,
        "has_children": kind in HOLDERS, "in_trash": False, "archived": False, kind: content,
    }  # fmt: skip
    assert contract("notion").wrong_instance("BlockObjectResponse", block) is None
    return block


def read_types(name: str) -> set[str]:
    choices = contract("notion").find_choices(name)
    return {one["properties"]["type"]["const"] for one in choices}


def test_each_type_of_the_description_is_tried() -> None:
    assert {*MADE, *HOLDERS, *NEVER_MADE} == read_types("BlockObjectResponse")
    assert {*MADE, *HOLDERS} == read_types("BlockObjectRequest")


@pytest.mark.parametrize("kind", MADE)
def test_a_block_comes_back_beside_a_neighbour_that_is_changed(kind: str) -> None:
    block, neighbour = answer(kind, MADE[kind]), answer("paragraph", {"rich_text": rich("earlier"), **PLAIN})
    text = format_blocks([neighbour, block, neighbour])
    assert text.count("earlier") == 2
    before, made, after = parse_markdown(text.replace("earlier", "later"))
    assert [one["paragraph"]["rich_text"][0]["text"]["content"] for one in (before, after)] == ["later", "later"]
    assert contract("notion").wrong_instance("BlockObjectRequest", made) is None
    assert made["type"] == kind
    assert shown(made[kind]) == shown(block[kind])


@pytest.mark.parametrize("kind", HOLDERS)
def test_a_block_that_holds_others_keeps_its_id(kind: str) -> None:
    text = format_blocks([answer(kind, HOLDERS[kind])])
    assert text.startswith(f'```notion\n{{"id":"{BLOCK_ID}","type":"{kind}"')
    with pytest.raises(ToolError, match=f"the {kind} in a fence `notion` has children that are not in it"):
        parse_markdown(text)


@pytest.mark.parametrize("kind", NEVER_MADE)
def test_a_block_that_only_notion_makes_is_shown_and_not_left_out(kind: str) -> None:
    text = format_blocks([answer(kind, NEVER_MADE[kind])])
    assert text.startswith(f'```notion\n{{"type":"{kind}"')
    with pytest.raises(ToolError, match=f"a block of type {kind} cannot be made of Markdown"):
        parse_markdown(text)


PLAIN = {"color": "default", "icon": None}
NO_REQUEST_SAYS = ("list_start_index", "list_format")
"""Fields of an answer that no request takes."""


def test_a_list_that_begins_later_shows_its_number() -> None:
    first = answer("numbered_list_item", MADE["numbered_list_item"])
    second = answer("numbered_list_item", {"rich_text": rich("next"), "color": "default"})
    assert format_blocks([first, second]).splitlines()[1] == "5. next"
    assert format_block(first).startswith("4. ")
    assert format_block(second).startswith("1. ")


def shown(value: Any) -> Any:
    """What a block says, as a request and as an answer: without what Notion derives, and what is the default."""
    if isinstance(value, list):
        return [shown(one) for one in value]
    if not isinstance(value, dict):
        return value
    derived = ("plain_text", "href", "object", *NO_REQUEST_SAYS)
    kept = {name: shown(one) for name, one in value.items() if name not in derived}
    return {name: one for name, one in kept.items() if one not in (None, False, "default", [], {})}
