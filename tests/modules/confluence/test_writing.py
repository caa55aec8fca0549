"""Changing what is in Confluence through `/mcp`: pages, comments and labels, from the first to the last."""

import pytest

from tests.modules.confluence.cases import WRITES, call
from tests.support.confluence_double import ConfluenceDouble, refuse
from tests.support.confluence_double.world import BASE, World, encode_tiny
from tests.support.module_app import ModuleApp
from tests.support.ragged_tables import RAGGED
from tests.support.vendor_double import VendorRefusal, VendorReply

pytestmark = pytest.mark.asyncio(loop_scope="package")
ADA = "Ada Lovelace (5b10a2844c20165700ede21g)"
MACRO = (
    '<ac:structured-macro ac:name="chart" ac:schema-version="1" ac:macro-id="1f"><ac:parameter ac:name="type">pie'
    "</ac:parameter></ac:structured-macro>"
)
LAYOUT = (
    f'<ac:layout><ac:layout-section ac:type="two_equal"><ac:layout-cell><p>left</p>{MACRO}</ac:layout-cell>'
    "</ac:layout-section></ac:layout>"
)


async def test_a_page_is_made_read_changed_and_deleted(app: ModuleApp, world: World) -> None:
    home = world.add("Home")
    made = await call(app, "create_page", title="議事録 ملاحظات", body="# 議題\n\n- 予算\n- **مهم**", parent=home)
    assert made == {
        "id": made["id"], "title": "議事録 ملاحظات", "version": 1, "url": f"{BASE}/x/{encode_tiny(int(made['id']))}",
    }  # fmt: skip
    assert world.pages[made["id"]].space == "98306"
    assert world.pages[made["id"]].body == "<h1>議題</h1><ul><li>予算</li><li><strong>مهم</strong></li></ul>"
    assert await call(app, "get_page", page=made["url"]) == {
        "id": made["id"], "title": "議事録 ملاحظات", "space": "ENG (98306)", "parent": home,
        "version": 1, "created": "2026-01-31T12:00:00Z", "author": ADA, "url": made["url"],
        "body": "# 議題\n\n- 予算\n- **مهم**",
    }  # fmt: skip
    await call(app, "update_page", page=made["id"], body_changes=[{"old": "予算", "new": "予算 2027"}], message="why")
    await call(app, "update_page", page=made["id"], title="New", append="The end.")
    found = await call(app, "get_page", page=made["id"])
    assert (found["title"], found["version"]) == ("New", 3)
    assert found["body"] == "# 議題\n\n- 予算 2027\n- **مهم**\n\nThe end."
    assert "2027" not in (await call(app, "get_page", page=made["id"], version=1))["body"]
    versions = await call(app, "list_versions", page=made["id"], per_page=2)
    assert versions["versions"] == [
        {"number": 3, "created": "2026-01-31T12:00:00Z", "author": ADA},
        {"number": 2, "created": "2026-01-31T12:00:00Z", "author": ADA, "message": "why"},
    ]
    for purge in (False, True):
        assert await call(app, "delete_page", page=made["id"], purge=purge) == {"id": made["id"], "removed": True}
    assert list(world.pages) == [home]


async def test_a_ragged_table_loses_no_cell(app: ModuleApp, world: World) -> None:
    page = (await call(app, "create_page", space="98306", title="Ragged", body=RAGGED))["id"]
    body = (await call(app, "get_page", page=page))["body"].replace("\\`", "")
    assert [cell for cell in "123456" if f"| {cell} |" not in body] == []


async def test_what_markdown_cannot_say_survives_an_edit(app: ModuleApp, world: World) -> None:
    before = f'<p local-id="1">first</p>{LAYOUT}<p local-id="2">last &nbsp;&rarr;</p>'
    page = world.add("x", before)
    body = (await call(app, "get_page", page=page))["body"]
    assert "{=storage}" in body
    await call(app, "update_page", page=page, body=body.replace("left", "right"))
    assert world.pages[page].body == before.replace("left", "right")
    await call(app, "update_page", page=page, body_changes=[{"old": "first", "new": "changed"}])
    assert world.pages[page].body == before.replace("left", "right").replace('<p local-id="1">first', "<p>changed")
    await call(app, "update_page", page=page, title="Only its title")
    assert world.pages[page].body == world.pages[page].bodies[-2]
    broken = f"`<ac:layout>`{{=storage}}\n\n{body}"
    refused = await app.call("update_page", page=page, body=broken)
    assert "not well-formed" in refused.text
    odd = world.add("odd", "<p>not <b>closed</p>")
    assert (await call(app, "get_page", page=odd))["markup"] is True
    assert "give the whole" in (await app.call("update_page", page=odd, body_changes=[{"old": "not", "new": ""}])).text
    await call(app, "update_page", page=odd, body="mended")
    assert world.pages[odd].body == "<p>mended</p>"


async def test_what_no_part_touches_stays_byte_for_byte(app: ModuleApp, world: World) -> None:
    table = (
        '<table data-layout="wide"><colgroup><col style="width: 9px;" /></colgroup><tbody><tr><th><p>a</p></th></tr>'
        "</tbody></table>"
    )
    page = world.add("x", f'<p>first</p>{table}<p>between</p>{table}<p local-id="7">last</p>')
    changes = [{"old": "last", "new": "end"}, {"old": "first", "new": "start"}]
    await call(app, "update_page", page=page, body_changes=changes)
    assert world.pages[page].body == f"<p>start</p>{table}<p>between</p>{table}<p>end</p>"
    wrong = [{"old": "start", "new": "x"}, {"old": "nowhere", "new": "x"}]
    refused = await app.call("update_page", page=page, body_changes=wrong)
    assert "body_changes[1].old is in the body 0 times" in refused.text
    assert len(world.pages[page].bodies) == 2


async def test_somebody_else_was_faster(app: ModuleApp, vendor: ConfluenceDouble, world: World) -> None:
    page = world.add()
    await call(app, "update_page", page=page, title="Second", version=1)
    stale = await app.call("update_page", page=page, title="Third", version=1)
    assert "the page has version 2 now, not 1: read it again. Nothing was changed" in stale.text
    conflict = refuse(409, "Version must be incremented when updating a page. Current Version: [5]", "CONFLICT")
    vendor.refusals = [None, conflict]
    late = await app.call("update_page", page=page, title="Third")
    assert late.failed
    assert "somebody changed it at the same moment: read it again" in late.text
    assert world.pages[page].titles == ["A page", "Second"]
    comment = world.add_comment(page)
    assert "version 1 now, not 7" in (await app.call("update_comment", comment=comment, text="x", version=7)).text


async def test_a_long_page_is_read_on_and_written_whole(app: ModuleApp, world: World) -> None:
    text = "\n\n".join(f"paragraph {number} with some words" for number in range(2_500))
    page = (await call(app, "create_page", title="Long", body=text, space="ENG"))["id"]
    found, offset = "", 0
    while True:
        part = await call(app, "get_page", page=page, offset=offset)
        found += part["body"]
        if not (offset := part.get("next_offset", 0)):
            break
    assert found == text
    largest = f"```\n{'議' * 499_992}\n```"
    made = await call(app, "create_page", title="Largest", body=largest, space="ENG")
    assert world.pages[made["id"]].body.count("議") == 499_992
    too_long = await app.call("create_page", title="Larger", body=f"{largest}x", space="ENG")
    assert "body" in too_long.text
    assert len(world.pages) == 2


async def test_comments_and_replies(app: ModuleApp, world: World) -> None:
    page = world.add()
    first = (await call(app, "add_comment", page=page, text="Looks **good** 検討"))["id"]
    reply = (await call(app, "add_comment", reply_to=first, text="Thanks"))["id"]
    listed = await call(app, "list_comments", page=page)
    assert listed["comments"] == [
        {"id": first, "author": ADA, "updated": "2026-01-31T12:00:00Z", "text": "Looks **good** 検討"}
    ]
    assert [one["id"] for one in (await call(app, "list_replies", comment=first))["comments"]] == [reply]
    assert (await call(app, "update_comment", comment=reply, text="Thank you"))["version"] == 2
    found = await call(app, "get_comment", comment=reply)
    assert (found["text"], found["reply_to"], found["page"]) == ("Thank you", first, f"A page ({page})")
    await call(app, "delete_comment", comment=reply)
    assert list(world.comments) == [first]
    long = world.add_comment(page, f"<p>{'word ' * 9_000}</p>")
    cut = (await call(app, "list_comments", page=page, newest_first=True))["comments"][0]
    assert cut["truncated"] is True
    rest = await call(app, "get_comment", comment=long, offset=len(cut["text"]))
    last = await call(app, "get_comment", comment=long, offset=rest["next_offset"])
    assert cut["text"] + rest["text"] + last["text"] == ("word " * 9_000).strip()


async def test_labels_and_files(app: ModuleApp, world: World) -> None:
    page = world.add()
    added = await call(app, "add_labels", page=page, labels=["plan", "予算", "plan", "a/b"])
    assert added == {"labels": [{"name": "plan"}, {"name": "予算"}, {"name": "a/b"}]}
    await call(app, "remove_label", page=page, label="a/b")
    assert world.pages[page].labels == ["plan", "予算"]
    assert "no such object" in (await app.call("remove_label", page=page, label="a/b")).text
    world.pages[page].files += [{"title": "図 1.png"}, {"title": "b.png"}]
    [file] = (await call(app, "list_attachments", page=page, filename="図 1.png"))["attachments"]
    assert file == {
        "id": "att60001", "title": "図 1.png", "type": "image/png", "bytes": 12_345, "version": 1,
        "created": "2026-01-31T12:00:00Z", "url": f"{BASE}/download/attachments/{page}/%E5%9B%B3%201.png",
    }  # fmt: skip


@pytest.mark.parametrize("tool", WRITES)
async def test_a_write_that_may_have_arrived_is_not_repeated(
    app: ModuleApp, vendor: ConfluenceDouble, world: World, tool: str
) -> None:
    page = world.add()
    known = {"PAGE": page, "COMMENT": world.add_comment(page)}
    params = {name: known.get(str(value), value) for name, value in WRITES[tool].items()}
    reads = [None] if tool.startswith("update") else []
    for reply in (VendorRefusal(502, {}), VendorReply(200, b"<html>"), VendorReply(200, b"{}")):
        vendor.refusals = [*reads, reply]
        before = len(vendor.seen)
        answer = await app.call(tool, **params)
        assert answer.failed
        assert "look before you try again" in answer.text
        assert len(vendor.seen) == before + len(reads) + 1
