"""Notion's tools through `/mcp`: what a client gets of an answer, of each documented error, and of bad input."""

from typing import Any

import pytest

from modules.notion import MODULE
from tests.support.module_app import ModuleApp, make_app_fixtures
from tests.support.notion_double import NotionDouble, notion_double
from tests.support.notion_double.world import Refused
from tests.support.ragged_tables import RAGGED

pytestmark = pytest.mark.asyncio(loop_scope="module")
SOMEWHERE = "00000000-0000-4000-8000-000000000fff"


vendor, app = make_app_fixtures(MODULE, notion_double, eves="reader")


async def test_a_page_is_made_and_read(app: ModuleApp, vendor: NotionDouble) -> None:
    home = vendor.world.page("ホーム")["id"]
    made = await app.call("create_page", parent_id=home, title="議事録 ملاحظات", markdown="# 議題\n\n- 予算")
    read = await app.call("get_page_markdown", page_id=made.value["id"])
    assert not read.failed
    found = await app.call("search_pages", query="議事録")
    assert [one["title"] for one in found.value["results"]] == ["議事録 ملاحظات"]


async def test_objects_may_come_as_json_text(app: ModuleApp, vendor: NotionDouble) -> None:
    """Clients send so what is an object in the schema (makenotion/notion-mcp-server#82)."""
    source = vendor.world.database("Tasks", {}, {"Task": {"title": {}}, "Done": {"checkbox": {}}})["data_sources"][0]
    made = await app.call(
        "create_page", parent_id=source["id"], parent_kind="data_source", title="t", properties='{"Done": true}'
    )
    assert not made.failed, made.text
    assert vendor.world.pages[made.value["id"]]["properties"]["Done"]["checkbox"] is True
    vendor.world.markdown[made.value["id"]] = "one two"
    changes = '[{"old": "two", "new": "2"}]'
    changed = await app.call("update_page_markdown", page_id=made.value["id"], changes=changes)
    assert changed.value["markdown"] == "one 2"


async def test_a_page_from_a_template(app: ModuleApp, vendor: NotionDouble) -> None:
    source = vendor.world.database("Notes", {}, {"Name": {"title": {}}})["data_sources"][0]["id"]
    vendor.world.templates[source] = [
        {"id": vendor.world.make_id(), "name": name, "is_default": name == "Minutes"}
        for name in ("Minutes", "会議", "会議 long")
    ]
    page = {"parent_id": source, "parent_kind": "data_source", "title": "t"}
    for template, text in (("default", "from Minutes"), ("会議", "from 会議"), ("MINUTES", "from Minutes")):
        made = await app.call("create_page", **page, template=template)
        assert not made.failed, made.text
        assert vendor.world.markdown[made.value["id"]] == text
    before = [one for one in vendor.seen if one.startswith("POST")]
    unknown = await app.call("create_page", **page, template="議")
    assert unknown.failed
    assert "0 templates of that name, not one; similar: 会議, 会議 long" in unknown.text
    for wrong in ({**page, "markdown": "x"}, {**page, "parent_kind": "page"}):
        answer = await app.call("create_page", **wrong, template="default")
        assert answer.failed
        assert "template is for rows" in answer.text
    assert [one for one in vendor.seen if one.startswith("POST")] == before


async def test_a_meeting_with_its_transcript(app: ModuleApp, vendor: NotionDouble) -> None:
    home = vendor.world.page("Meeting")["id"]
    vendor.world.markdown[home] = "Summary"
    assert (await app.call("get_page_markdown", page_id=home)).value["markdown"] == "Summary"
    found = await app.call("get_page_markdown", page_id=home, transcript=True)
    assert found.value["markdown"] == "Summary\n\nAda: Good morning"


REFUSALS: list[tuple[Refused, str]] = [
    (Refused(404, "object_not_found"), "not shared with this connection"),
    (Refused(403, "restricted_resource"), "lacks the capability"),
    (Refused(409, "conflict_error"), "read it again"),
    (Refused(400, "validation_error", "body.filter.value should be a string"), "look at filter.value"),
    (Refused(500, "internal_server_error"), "try again later"),
    (Refused(503, "service_unavailable"), "try again later"),
]  # fmt: skip


@pytest.mark.parametrize(("refusal", "text"), REFUSALS, ids=lambda one: str(getattr(one, "body", {}).get("code", "")))
async def test_a_documented_error_says_what_to_do(
    app: ModuleApp, vendor: NotionDouble, refusal: Refused, text: str
) -> None:
    vendor.refusals[:] = [refusal] * 5  # a request that only reads is tried again
    answer = await app.call("get_page", page_id=SOMEWHERE)
    vendor.refusals.clear()
    assert answer.failed
    assert text in answer.text
    assert "made-up" not in answer.text


BAD_INPUT: list[tuple[str, dict[str, Any], str]] = [
    ("get_page", {"page_id": "no id"}, "page_id"),
    ("create_page", {"parent_id": SOMEWHERE, "title": "x", "properties": {"Due": "2026-02-30"}}, "properties"),
    ("update_page", {"page_id": "TASK", "properties": {"Due": "2026-02-30"}}, "'Due': the date 2026-02-30"),
    ("update_page", {"page_id": "TASK", "properties": {"Due": "2026-01-31T09:00"}}, "2026-01-31T09:00 has no zone"),
    ("update_page", {"page_id": "TASK", "properties": {"Due": "2026-01-31T09:00 Mars/Base"}}, "is no IANA time zone"),
    *(
        ("update_page", {"page_id": "TASK", "properties": {"Due": due}}, f"'Due': {text}")
        for due, text in (
            ("2026-01-31_09:00", "'2026-01-31_09:00' is not a time"),
            ("2026-01-31t09:00", "2026-01-31t09:00 has no zone"),
            ("2026-01-31T09:00:00.000", "2026-01-31T09:00:00.000 has no zone"),
            ("20260131", "'20260131' is not a time"),
            ("2026", "'2026' is not a time"),
            ("2026-W05-1", "'2026-W05-1' is not a time"),
            ("/2026-01-31", "a date has a start"),
            ("2026-01-31/", "a date has a start"),
            ("2026-02-01/2026-01-31", "the end, 2026-01-31, is before the start"),
            ("2026-02-01T09:00Z/2026-02-01T09:30+02:00", "the end, 2026-02-01T09:30+02:00, is before the start"),
            ("2026-02-01T09:00Z/2026-01-31", "the end, 2026-01-31, is before the start"),
            ("2026-03-29T02:30 Europe/Berlin", "2026-03-29T02:30 does not exist in Europe/Berlin"),
            ({"date": {"start": "2026-02-30"}}, "the date 2026-02-30 does not exist"),
            ({"date": {"start": "2026-01-31T09:00"}}, "2026-01-31T09:00 has no zone"),
            ({"date": {"end": "2026-01-31"}}, "a date has a start"),
            ({"date": {"start": "2026-01-31", "time_zone": "Mars/Base"}}, "'Mars/Base' is no IANA time zone"),
        )
    ),
    *(
        ("append_block_children", {"block_id": SOMEWHERE, "markdown": f"[d](mention:{target})"}, text)
        for target, text in (
            ("date:2026-02-30", "mention:date: the date 2026-02-30 does not exist"),
            ("date:2026-01-31T09:00", "mention:date: 2026-01-31T09:00 has no zone"),
            ("date:2026-02-01/2026-01-31", "mention:date: the end, 2026-01-31, is before the start"),
            ("user:nobody", "mention:user: 'nobody' is no id"),
            ("page:../x", "mention:page: '../x' is no id"),
        )
    ),
    *(
        ("query_data_source", {"data_source_id": SOMEWHERE, "filter": {"or": [{"property": "Due", **one}]}}, text)
        for one, text in (
            ({"date": {"equals": "2026-02-30"}}, "filter: date.equals: the date 2026-02-30 does not exist"),
            ({"formula": {"date": {"after": "2026-01-31T09:00"}}}, "filter: date.after: 2026-01-31T09:00 has no zone"),
        )
    ),
    ("update_page", {"page_id": "TASK", "properties": {"Tags": ["x"] * 101}}, "'Tags' has 101 values"),
    ("update_data_source", {"data_source_id": SOMEWHERE, "add": {"Due": "day"}}, "add"),
    ("list_users", {"cursor": "bm8="}, "cursor"),
    ("list_users", {"per_page": 101}, "per_page"),
    ("create_comment", {"text": "x"}, "page_id"),
    ("get_page", {"page_id": SOMEWHERE, "unknown": 1}, "unknown"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "params", "name"), BAD_INPUT, ids=[f"{one[0]}-{one[2]}" for one in BAD_INPUT])
async def test_bad_input_names_the_parameter(
    app: ModuleApp, vendor: NotionDouble, tool: str, params: dict[str, Any], name: str
) -> None:
    if params.get("page_id") == "TASK":
        columns = {"Task": {"title": {}}, "Due": {"date": {}}, "Tags": {"multi_select": {}}}
        database = vendor.world.database("Tasks", {"type": "workspace", "workspace": True}, columns)
        source = database["data_sources"][0]["id"]
        made = await app.call("create_page", parent_id=source, parent_kind="data_source", title="One")
        params = {**params, "page_id": made.value["id"]}
    before = len(vendor.seen)
    answer = await app.call(tool, **params)
    assert answer.failed
    assert name in answer.text
    assert [one for one in vendor.seen[before:] if not one.startswith("GET")] == []


async def test_a_ragged_table_loses_no_cell(app: ModuleApp, vendor: NotionDouble) -> None:
    home = vendor.world.page("Home")["id"]
    answer = await app.call("append_block_children", block_id=home, markdown=RAGGED)
    assert not answer.failed, answer.text
    shown = str(vendor.world.blocks).replace("`", "")
    assert [cell for cell in "123456" if f"'content': '{cell}'" not in shown] == []


async def test_a_connection_without_the_capability(app: ModuleApp, vendor: NotionDouble) -> None:
    home = vendor.world.page("Home")["id"]
    answer = await app.call_as(app.eve, "update_page", page_id=home, in_trash=True)
    assert answer.failed
    assert "capability" in answer.text
    assert not vendor.world.pages[home]["in_trash"]


async def test_a_part_is_changed_and_the_rest_stays(app: ModuleApp, vendor: NotionDouble) -> None:
    """Wish 5 (docs/modules/wishes.md): what an edit does not name is not touched."""
    page = vendor.world.page("Plan")["id"]
    child = vendor.world.page("Child", {"type": "page_id", "page_id": page})["id"]
    first = await app.read(
        "append_block_children", block_id=page, markdown="keep [@Ada](mention:user:" + SOMEWHERE + ")"
    )
    second = await app.read("append_block_children", block_id=page, markdown="change **this**")
    await app.read("update_block", block_id=second["ids"][0], markdown="changed *that*")
    blocks = (await app.read("list_block_children", block_id=page))["blocks"]
    known = {one["id"]: one["markdown"] for one in blocks}
    assert known[first["ids"][0]] == f"keep [somebody](mention:user:{SOMEWHERE})"
    assert known[second["ids"][0]] == "changed *that*"
    assert (await app.read("get_page", page_id=child))["title"] == "Child"
    vendor.world.markdown[page] = "one\n\ntwo\n\none more"
    answer = await app.call("update_page_markdown", page_id=page, changes=[{"old": "one", "new": "1"}])
    assert answer.failed, "what stands there twice is not guessed at"
    assert vendor.world.markdown[page] == "one\n\ntwo\n\none more"
    changed = await app.read("update_page_markdown", page_id=page, changes=[{"old": "two", "new": "2"}])
    assert changed["markdown"] == "one\n\n2\n\none more"


async def test_rows_of_a_database_by_filter_and_order(app: ModuleApp, vendor: NotionDouble) -> None:
    """Wish 8, with objects and lists as JSON text (wish 1), to the last page (wish 17)."""
    columns = {"Task": {"title": {}}, "Done": {"checkbox": {}}, "Points": {"number": {}}}
    source = vendor.world.database("Tasks", {}, columns)["data_sources"][0]["id"]
    for number in range(5):
        await app.read(
            "create_page", parent_id=source, parent_kind="data_source", title=f"課題 {number}",
            properties={"Points": number, "Done": number > 3},
        )  # fmt: skip
    asked = {
        "data_source_id": source, "filter": '{"property": "Done", "checkbox": {"equals": false}}',
        "sorts": '[{"property": "Points", "direction": "descending"}]', "per_page": 3,
    }  # fmt: skip
    first = await app.read("query_data_source", **asked)
    rest = await app.read("query_data_source", **asked, cursor=first["nextCursor"])
    assert [one["title"] for one in first["rows"] + rest["rows"]] == ["課題 3", "課題 2", "課題 1", "課題 0"]
    assert "nextCursor" not in rest


async def test_a_comment_is_corrected_and_removed(app: ModuleApp, vendor: NotionDouble) -> None:
    """Wish 11."""
    page = vendor.world.page("Plan")["id"]
    said = await app.read("create_comment", page_id=page, text="furst")
    await app.read("update_comment", comment_id=said["id"], text="**first**")
    [listed] = (await app.read("list_comments", block_id=page))["comments"]
    assert listed["created_by"].startswith("MCPist (")
    assert (listed["id"], listed["text"], "parent" in listed) == (said["id"], "**first**", False)
    await app.read("delete_comment", comment_id=said["id"])
    assert (await app.read("list_comments", block_id=page))["comments"] == []
