"""Finding and reading pages, blocks, databases, comments and people."""

from typing import Any

import pytest
from pydantic import ValidationError

from modules.kit import ToolError
from modules.kit.cursors import encode_cursor
from modules.kit.results import PAGE_CHARACTERS
from modules.notion.block_parsing import parse_markdown
from modules.notion.properties import make_value, read_property
from tests.modules.notion.conftest import NotionApp
from tests.modules.notion.test_content import EVERYTHING
from tests.support.notion_double.world import build_column

LONG = f"https://prod-files-secure.s3.us-west-2.amazonaws.com/a?X-Amz-Signature={'a' * 600}"


async def test_search_by_title_page_by_page(app: NotionApp) -> None:
    for number in range(5):
        app.world.page(f"Plan {number} 計画\u202e")
    first = await app.call("search_pages", query="plan", kind="page", per_page=3)
    rest = await app.call("search_pages", query="plan", kind="page", cursor=first["nextCursor"])
    assert [one["title"] for page in (first, rest) for one in page["results"]] == [f"Plan {n} 計画" for n in range(5)]
    assert "nextCursor" not in rest
    found = await app.call("search_pages", kind="data_source")
    assert [(one["object"], one["title"]) for one in found["results"]] == [("data_source", "Tasks")]
    assert (await app.call("search_pages", query="nothing"))["results"] == []


async def test_a_page_by_id_or_address(app: NotionApp) -> None:
    plain = app.home.replace("-", "")
    for given in (app.home, plain, plain.upper(), f"https://www.notion.so/acme/Home-{plain}?pvs=4"):
        page = await app.call("get_page", page_id=given)
        assert (page["id"], page["title"], page["parent"]) == (app.home, "Home", "workspace")


@pytest.mark.parametrize("given", ["", "home", "../users", "https://evil.test/" + "a" * 32, "a" * 33, "1" * 501])
async def test_an_id_that_is_none_is_never_sent(app: NotionApp, given: str) -> None:
    with pytest.raises(ValidationError, match="page_id"):
        await app.call("get_page", page_id=given)
    assert app.notion.seen == []


async def test_a_long_page_is_read_on(app: NotionApp) -> None:
    text = "".join(f"{n} 行\n" for n in range(20_000))
    app.world.markdown[app.home] = text
    pages, cursor = [], None
    while True:
        page = await app.call("get_page_markdown", page_id=app.home, **({"cursor": cursor} if cursor else {}))
        pages.append(page["markdown"])
        if not (cursor := page.get("nextCursor")):
            break
    assert ("".join(pages), max(map(len, pages)) <= PAGE_CHARACTERS, len(pages)) == (text, True, 3)


@pytest.mark.parametrize(
    "cursor", ["", "x", encode_cursor([0]), encode_cursor([-1]), encode_cursor([True]), encode_cursor([10**6])]
)
async def test_a_forged_place(app: NotionApp, cursor: str) -> None:
    with pytest.raises(ToolError, match="cursor was not returned by this tool"):
        await app.call("get_page_markdown", page_id=app.home, cursor=cursor)


@pytest.mark.parametrize(
    "cursor", ["x", encode_cursor({}), encode_cursor(["a", 2, {"start_cursor": "b"}]), encode_cursor([1])]
)
@pytest.mark.parametrize("tool", ["search_pages", "list_users"])
async def test_a_forged_cursor_is_never_sent(app: NotionApp, tool: str, cursor: str) -> None:
    with pytest.raises(ToolError, match="cursor was not returned by this tool"):
        await app.call(tool, cursor=cursor)
    assert app.notion.seen == []


async def test_blocks_as_markdown_with_their_ids(app: NotionApp) -> None:
    app.world.append(app.home, parse_markdown("# One\n\n- a\n  - b\n\n`code`"))
    found = await app.call("list_block_children", block_id=app.home, per_page=2)
    assert [one["markdown"] for one in found["blocks"]] == ["# One", "- a"]
    inner = await app.call("list_block_children", block_id=found["blocks"][1]["id"])
    assert [one["markdown"] for one in inner["blocks"]] == ["- b"]
    rest = await app.call("list_block_children", block_id=app.home, cursor=found["nextCursor"])
    assert [one["markdown"] for one in rest["blocks"]] == ["`code`"]
    one = await app.call("get_block", block_id=rest["blocks"][0]["id"])
    assert (one["type"], one["markdown"], one.get("has_children", False)) == ("paragraph", "`code`", False)


async def test_a_database_its_columns_and_its_rows(app: NotionApp) -> None:
    database = await app.call("get_database", database_id=app.database)
    assert (database["title"], database["data_sources"]) == ("Tasks", [{"id": app.tasks, "name": "Tasks"}])
    source = await app.call("get_data_source", data_source_id=app.tasks)
    assert source["properties"]["State"] == "select: Open, Closed"
    values = {"Done": True, "Due": "2026-01-31", "State": "Open", "Notes": "**b**", "Points": 3, "Tags": ["red"]}
    for title in ("a", "b"):
        await app.call("create_page", parent_id=app.tasks, parent_kind="data_source", title=title, properties=values)
    query = {"filter": {"property": "Done", "checkbox": {"equals": True}}, "sorts": [{"property": "created_time"}]}
    first = await app.call("query_data_source", data_source_id=app.tasks, per_page=1, **query)
    rest = await app.call("query_data_source", data_source_id=app.tasks, cursor=first["nextCursor"], **query)
    assert [one["title"] for page in (first, rest) for one in page["rows"]] == ["a", "b"]
    assert first["rows"][0]["properties"] == values


async def test_one_property(app: NotionApp) -> None:
    person = "00000000-0000-4000-8000-000000000001"
    page = await app.call(
        "create_page", parent_id=app.tasks, parent_kind="data_source", properties={"Who": [person] * 3, "Points": 2}
    )
    whole = await app.call("get_page_property", page_id=page["id"], property_name="Who", per_page=2)
    assert whole["value"] == [person, person]
    assert whole["nextCursor"]
    assert (await app.call("get_page_property", page_id=page["id"], property_name="Points"))["value"] == 2


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"type": "url", "url": LONG}, LONG),
        (
            {"type": "files", "files": [{"name": "a\u202e.pdf", "type": "file", "file": {"url": LONG}}]},
            [f"a.pdf: {LONG}"],
        ),
        ({"type": "formula", "formula": {"type": "string", "string": "x " * 400}}, "x " * 400),
        ({"type": "email", "email": "ada@acme.test"}, "ada@acme.test"),
    ],
)
def test_an_address_and_a_computed_text_are_whole(value: dict[str, Any], shown: Any) -> None:
    assert read_property(value) == shown


async def test_people_and_the_connection(app: NotionApp) -> None:
    found = await app.call("list_users")
    assert [(one["name"], one.get("email")) for one in found["users"]] == [("Ada", "ada@acme.test"), ("MCPist", None)]
    assert (await app.call("get_self"))["name"] == "MCPist"


async def test_what_every_kind_of_block_is_read_as(app: NotionApp) -> None:
    column = '{"type":"column","column":{"children":[{"type":"paragraph","paragraph":{"rich_text":[]}}]}}'
    markdown = EVERYTHING.replace('"children":[]', f'"children":[{column},{column}]')
    await app.call("append_block_children", block_id=app.home, markdown=markdown)
    found = await app.call("list_block_children", block_id=app.home)
    texts = {one["type"]: one["markdown"] for one in found["blocks"]}
    assert texts["to_do"] == "- [x] done"
    assert texts["callout"] == "> [!💡] callout"
    assert texts["video"] == "[video: v](https://a.test/v.mp4)"
    assert '"type":"column_list"' in texts["column_list"]


async def test_a_relation_within_a_data_source_names_it(app: NotionApp) -> None:
    for name, target in (("Part of", app.tasks), ("Elsewhere", app.home)):
        ids = {"data_source_id": target, "database_id": app.database}
        column = build_column(name, {"relation": {**ids, "type": "single_property", "single_property": {}}})
        app.world.sources[app.tasks]["properties"][name] = column
    columns = (await app.call("get_data_source", data_source_id=app.tasks))["properties"]
    assert columns["Part of"] == f"relation: Tasks ({app.tasks})"
    assert columns["Elsewhere"] == f"relation: {app.home}"


@pytest.mark.parametrize("kind", ["people", "relation"])
def test_an_id_with_its_name_is_taken_as_it_is_shown(kind: str) -> None:
    shown = "Ada (Lovelace) (00000000-0000-4000-8000-000000000001)"
    plain = "00000000-0000-4000-8000-000000000001"
    for given in (shown, plain):
        assert make_value("Who", kind, [given]) == [{"id": plain}]
    assert make_value("Who", kind, ["Ada (1)"]) == [{"id": "Ada (1)"}]
