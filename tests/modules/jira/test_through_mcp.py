"""Jira's tools through `/mcp`: what a client gets of an answer, of each documented error, and of bad input."""

from typing import Any

import orjson
import pytest
import pytest_asyncio

from core.http.credential_headers import CredentialScheme
from modules.jira import MODULE
from tests.support.jira_double import PAIR, JiraDouble, jira_double
from tests.support.jira_double.forms import refuse, refuse_for_limit
from tests.support.jira_double.world import BOB
from tests.support.module_app import ModuleApp, make_app_fixtures
from tests.support.ragged_tables import RAGGED
from tests.support.tokens import tokens
from tests.support.vendor_double import VendorRefusal, VendorReply

pytestmark = pytest.mark.asyncio(loop_scope="module")
ADA = "5b10a2844c20165700ede21g"


# Ada has an e-mail address and an API token, eve a bearer token that only reads.
vendor, app = make_app_fixtures(
    MODULE, jira_double, adas=PAIR, eves="reader", scheme=CredentialScheme(kind="basic_pair")
)


@pytest_asyncio.fixture(loop_scope="module")
async def issue(vendor: JiraDouble) -> str:
    return vendor.world.add("An issue")


async def test_an_issue_is_made_changed_and_read(app: ModuleApp, vendor: JiraDouble) -> None:
    fields = {
        "Team": "Red", "colours": ["Red", "id:7"], "Story points": 3, "Notes": "Some **notes**", "Tester": ADA,
        "Starts": "2026-01-31T12:00:00+09:00", "Place": "Asia / Tokyo", "customfield_10009": "2026-02-28",
    }  # fmt: skip
    made = await app.read(
        "create_issue", project="abc", type="Task", summary="議事録 ملاحظات", description="# 議題\n\n- 予算",
        labels=["a"], due="2026-03-01", fields=fields,
    )  # fmt: skip
    key = made["key"]
    stored = vendor.world.issues[key]
    assert stored["customfield_10000"] == {"value": "Red"}
    assert stored["customfield_10001"] == [{"value": "Red"}, {"id": "7"}]
    assert stored["customfield_10003"]["type"] == "doc"
    assert stored["customfield_10005"] == "2026-01-31T12:00:00.000+0900"
    assert stored["customfield_10006"] == {"value": "Asia", "child": {"value": "Tokyo"}}
    found = await app.read("get_issue", issue=f"https://acme.atlassian.net/browse/{key}")
    assert (found["summary"], found["description"]) == ("議事録 ملاحظات", "# 議題\n\n- 予算")
    assert found["fields"]["Team"] == "Red"
    assert found["fields"]["Notes"] == "Some **notes**"
    assert found["fields"]["Place"] == "Asia / Tokyo"
    assert found["created"] == "2026-01-31T12:00:00+01:00"
    assert found["reporter"] == f"Ada Lovelace ({ADA})"
    await app.read("update_issue", issue=key, description_changes=[{"old": "予算", "new": "**予算**"}], notify=False)
    assert (await app.read("get_issue", issue=key))["description"] == "# 議題\n\n- **予算**"
    await app.read("update_issue", issue=key, summary="New", fields={"Story points": None})
    assert vendor.world.issues[key]["customfield_10002"] is None
    changes = await app.read("get_changelog", issue=key, per_page=2)
    assert changes["total"] > 2
    assert changes["nextCursor"]
    await app.read("delete_issue", issue=key)
    assert key not in vendor.world.issues


async def test_what_markdown_cannot_say_survives_an_edit(app: ModuleApp, vendor: JiraDouble) -> None:
    macro = {"type": "extension", "attrs": {"extensionType": "a", "extensionKey": "b", "parameters": {"c": [1]}}}
    before = {"type": "paragraph", "content": [{"type": "text", "text": "before"}]}
    key = vendor.world.add("x", description={"version": 1, "type": "doc", "content": [before, macro]})
    await app.read("update_issue", issue=key, description_changes=[{"old": "before", "new": "after"}])
    content = vendor.world.issues[key]["description"]["content"]
    assert content == [{"type": "paragraph", "content": [{"type": "text", "text": "after"}]}, macro]


async def test_what_was_cut_of_a_field_or_a_change_is_read_whole(app: ModuleApp, vendor: JiraDouble) -> None:
    text = "".join(f"word{number} " for number in range(3_000)).strip()
    paragraph = {"type": "paragraph", "content": [{"type": "text", "text": text}]}
    key = vendor.world.add("x", customfield_10003={"version": 1, "type": "doc", "content": [paragraph]})
    cut = (await app.read("get_issue", issue=key))["fields"]["Notes"]
    assert (len(cut), cut[-1]) == (2_000, "…")
    first = await app.read("get_issue", issue=key, field="Notes")
    rest = await app.read("get_issue", issue=key, field="Notes", offset=first["next_offset"])
    assert first["fields"]["Notes"] + rest["fields"]["Notes"] == text
    assert "next_offset" not in rest
    item = {"field": "Notes", "fromString": "", "toString": text}
    vendor.world.changes[key] = [
        {"id": str(number), "created": "2026-01-31T12:00:00.000+0100", "author": BOB, "items": [item]}
        for number in range(4)
    ]
    [row, *_] = (await app.read("get_changelog", issue=key))["changes"]
    assert row["truncated"]
    [one, *_, last] = (await app.read("get_changelog", issue=key, whole_values=True))["changes"]
    assert one["changes"] == [f"Notes: (empty) → {text}"]
    assert "truncated" not in one
    assert last["truncated"], "four are more than a page holds"
    [alone] = (await app.read("get_changelog", issue=key, whole_values=True, per_page=1))["changes"]
    assert alone["changes"] == one["changes"]


async def test_a_value_that_only_an_application_knows_is_read_whole(app: ModuleApp, vendor: JiraDouble) -> None:
    value = {"rows": [[[[{"cells": list(range(2_000))}]]]]}
    key = vendor.world.add("x", customfield_10003=value)
    cut = (await app.read("get_issue", issue=key))["fields"]["Notes"]
    assert (len(cut), cut[-1]) == (2_000, "…")
    whole = (await app.read("get_issue", issue=key, field="Notes"))["fields"]["Notes"]
    assert orjson.loads(whole) == value
    people = [{**BOB, "displayName": f"B{number}"} for number in range(150)]
    key = vendor.world.add("x", customfield_10003=people)
    shown = (await app.read("get_issue", issue=key))["fields"]["Notes"]
    assert (len(shown), shown[-1]) == (101, "…")
    whole = (await app.read("get_issue", issue=key, field="Notes"))["fields"]["Notes"]
    assert len(orjson.loads(whole)) == 150


async def test_a_long_description_is_read_on(app: ModuleApp, vendor: JiraDouble) -> None:
    text = "".join(f"word{number} " for number in range(5_000)).strip()
    paragraph = {"type": "paragraph", "content": [{"type": "text", "text": text}]}
    key = vendor.world.add("x", description={"version": 1, "type": "doc", "content": [paragraph]})
    parts, offset = "", 0
    while True:
        found = await app.read("get_issue", issue=key, offset=offset)
        parts += found["description"]
        if not (offset := found.get("next_offset", 0)):
            break
    assert parts == text


async def test_search_is_paged_to_the_end(app: ModuleApp, vendor: JiraDouble) -> None:
    for number in range(4):
        vendor.world.add(f"Row {number}", customfield_10002=number, assignee={"accountId": ADA, "displayName": "Ada"})
    keys: list[str] = []
    cursor: dict[str, Any] = {}
    while True:
        found = await app.read("search_issues", jql="project = ABC", fields=["Story points"], per_page=3, **cursor)
        assert ("about" in found) == (not cursor and "nextCursor" in found)
        keys += [one["key"] for one in found["issues"]]
        if "nextCursor" not in found:
            break
        cursor = {"cursor": found["nextCursor"]}
    assert keys == list(vendor.world.issues)
    last = found["issues"][-1]
    assert last["fields"] == {"Story points": 3}
    assert last["assignee"] == f"Ada ({ADA})"


async def test_a_workflow_is_followed(app: ModuleApp, vendor: JiraDouble, issue: str) -> None:
    steps = (await app.read("list_transitions", issue=issue))["transitions"]
    assert steps[1] == {"id": "21", "name": "Finish", "to": "Done", "required": ["Resolution: Fixed, Won't do"]}
    assert (await app.read("transition_issue", issue=issue, to="in progress"))["status"] == "In Progress"
    for to, text in (("Done", "several transitions fit"), ("Nowhere", "open are: Start (id 11"), ("21", "Resolution")):
        answer = await app.call("transition_issue", issue=issue, to=to)
        assert answer.failed
        assert text in answer.text
    done = {"to": "Finish", "fields": {"Resolution": "Fixed"}, "comment": "**done**"}
    assert (await app.read("transition_issue", issue=issue, **done))["status"] == "Done"
    assert vendor.world.issues[issue]["resolution"] == {"name": "Fixed"}
    comments = await app.read("list_comments", issue=issue)
    assert comments["comments"][0]["text"] == "**done**"


async def test_comments_work_and_links(app: ModuleApp, vendor: JiraDouble, issue: str) -> None:
    await app.read("add_comment", issue=issue, text=f"first [@](mention:{ADA})")
    await app.read("add_comment", issue=issue, text="second", visible_to_role="Developers")
    newest = await app.read("list_comments", issue=issue, newest_first=True, per_page=1)
    assert newest["comments"][0]["visible_to"] == "role Developers"
    rest = await app.read("list_comments", issue=issue, newest_first=True, per_page=1, cursor=newest["nextCursor"])
    assert rest["comments"][0]["text"] == f"first [@](mention:{ADA})"
    assert "nextCursor" not in rest
    for time, expected in (("1.5h", "90m"), ("2d 3h", "2d 3h"), ("1:30", "90m")):
        assert (await app.read("add_worklog", issue=issue, time=time, text="x"))["time"] == expected
    await app.read("add_worklog", issue=issue, time="5m", started="2026-01-31T09:00:00+05:30", keep_estimate=True)
    assert vendor.world.worklogs[issue][-1]["started"] == "2026-01-31T09:00:00.000+0530"
    assert (await app.read("list_worklogs", issue=issue))["total"] == 4
    other = vendor.world.add("other")
    linked = await app.read("link_issues", issue=issue, relation="is blocked by", other=other)
    assert linked["link"] == f"{issue} is blocked by {other}"
    assert (await app.read("get_issue", issue=issue))["links"] == [f"is blocked by {other} linked"]
    assert (await app.read("get_issue", issue=other))["links"] == [f"blocks {issue} linked"]


async def test_a_changed_comment_stays_hidden(app: ModuleApp, vendor: JiraDouble, issue: str) -> None:
    made = await app.read("add_comment", issue=issue, text="first", visible_to_role="Developers")
    await app.read("update_comment", issue=issue, comment_id=made["id"], text="**第二**")
    [found] = (await app.read("list_comments", issue=issue))["comments"]
    assert (found["text"], found["visible_to"]) == ("**第二**", "role Developers")


async def test_a_part_of_logged_work_is_changed(app: ModuleApp, vendor: JiraDouble, issue: str) -> None:
    made = await app.read("add_worklog", issue=issue, time="2h", started="2026-01-31T09:00:00+05:30", text="**x**")
    worklog = {"issue": issue, "worklog_id": made["id"]}
    await app.read("update_worklog", **worklog, time="90m", keep_estimate=True)
    assert vendor.seen[-1].endswith("?adjustEstimate=leave")
    [found] = (await app.read("list_worklogs", issue=issue))["worklogs"]
    assert (found["time"], found["started"], found["text"]) == ("90m", "2026-01-31T09:00:00+05:30", "**x**")
    await app.read("update_worklog", **worklog, text="done", started="2026-02-01T09:00:00Z")
    [found] = (await app.read("list_worklogs", issue=issue))["worklogs"]
    assert (found["time"], found["started"], found["text"]) == ("90m", "2026-02-01T09:00:00+00:00", "done")
    await app.read("delete_worklog", **worklog, keep_estimate=True)
    assert vendor.seen[-1].endswith("?adjustEstimate=leave")


async def test_a_link_is_removed(app: ModuleApp, vendor: JiraDouble, issue: str) -> None:
    other = vendor.world.add("other")
    for relation in ("is blocked by", "relates to"):
        await app.read("link_issues", issue=issue, relation=relation, other=other)
    several = await app.call("unlink_issues", issue=issue, other=other)
    assert "give one of: is blocked by, relates to" in several.text
    wrong = await app.call("unlink_issues", issue=issue, other=other, relation="blocks")
    assert "no such link to the other one; it has: is blocked by, relates to" in wrong.text
    done = await app.read("unlink_issues", issue=issue, other=other, relation="Relates to")
    assert done["unlinked"] == f"{issue} relates to {other}"
    assert (await app.read("unlink_issues", issue=other, other=issue))["unlinked"] == f"{other} blocks {issue}"
    assert "links" not in await app.read("get_issue", issue=issue)
    gone = await app.call("unlink_issues", issue=issue, other=other)
    assert "no such link to the other one" in gone.text


async def test_what_was_added_is_changed_and_removed(app: ModuleApp, vendor: JiraDouble, issue: str) -> None:
    first = await app.read("add_comment", issue=issue, text="furst")
    await app.read("add_comment", issue=issue, text="only for us", internal=True)
    await app.read("update_comment", issue=issue, comment_id=first["id"], text="**first**", notify=False)
    assert vendor.seen[-1].endswith("notifyUsers=false")
    changed, internal = (await app.read("list_comments", issue=issue))["comments"]
    assert (changed["text"], changed["updated"]) == ("**first**", "2026-01-31T12:30:00+01:00")
    assert "internal" not in changed
    assert internal["internal"] is True
    await app.read("delete_comment", issue=issue, comment_id=first["id"])
    assert [one["id"] for one in vendor.world.comments[issue]] == [internal["id"]]
    work = await app.read("add_worklog", issue=issue, time="1h", text="a")
    await app.read("update_worklog", issue=issue, worklog_id=work["id"], time="90m", started="2026-01-31T09:00:00Z")
    (logged,) = (await app.read("list_worklogs", issue=issue))["worklogs"]
    assert (logged["time"], logged["text"], logged["started"]) == ("90m", "a", "2026-01-31T09:00:00+00:00")
    await app.read("delete_worklog", issue=issue, worklog_id=work["id"])
    assert vendor.world.worklogs[issue] == []
    for tool, params in (
        ("update_comment", {"comment_id": "99", "text": "x"}),
        ("delete_worklog", {"worklog_id": "9"}),
    ):
        answer = await app.call(tool, issue=issue, **params)
        assert answer.failed
        assert "no such object" in answer.text


async def test_a_parent_is_set_and_removed(app: ModuleApp, vendor: JiraDouble, issue: str) -> None:
    epic = vendor.world.add("Epic")
    await app.read("update_issue", issue=issue, parent=epic)
    assert vendor.world.issues[issue]["parent"] == {"key": epic}
    await app.read("update_issue", issue=issue, parent="none", summary="alone")
    assert (vendor.world.issues[issue]["parent"], vendor.world.issues[issue]["summary"]) == (None, "alone")


async def test_people_projects_and_fields(app: ModuleApp, vendor: JiraDouble, issue: str) -> None:
    assert (await app.read("get_myself"))["name"] == "Ada Lovelace"
    assert (await app.read("list_projects"))["projects"][0]["lead"] == f"Ada Lovelace ({ADA})"
    assert (await app.read("list_projects", query="none"))["projects"] == []
    (found,) = (await app.read("search_users", query="ボブ", issue=issue))["users"]
    await app.read("assign_issue", issue=issue, assignee=found["accountId"])
    assert vendor.world.issues[issue]["assignee"]["displayName"] == "ボブ"
    await app.read("assign_issue", issue=issue, assignee="nobody")
    assert vendor.world.issues[issue]["assignee"] is None
    assert [one["name"] for one in (await app.read("list_fields", query="point"))["fields"]] == ["Story points"]
    first = await app.read("list_fields", per_page=8)
    rest = await app.read("list_fields", per_page=8, cursor=first["nextCursor"])
    assert (rest["fields"][-1]["name"], rest["total"], "nextCursor" in rest) == ("Summary", 14, False)
    assert [one["name"] for one in (await app.read("get_create_fields", project="ABC"))["types"]] == ["Task", "Bug"]
    fields = (await app.read("get_create_fields", project="ABC", type="bug"))["fields"]
    assert fields[0] == {"id": "summary", "name": "Summary", "type": "string", "required": True}
    assert fields[4]["allowed"] == ["Red"]


REFUSALS: list[tuple[VendorRefusal, str, str]] = [
    (refuse(404, "made-up"), "get_issue", "no such object"),
    (refuse(403, "made-up"), "get_issue", "lacks the permission"),
    (refuse(409, "made-up"), "get_issue", "read it again"),
    (refuse(400, "Error in the JQL Query: made-up"), "search_issues", "mistake in its syntax"),
    (refuse(400, "Field 'made-up' does not exist or you do not have permission"), "search_issues", "list of fields"),
    (refuse(400, "The value 'made-up' does not exist for the field 'x'."), "search_issues", "does not exist"),
    (refuse(400, customfield_1="made-up"), "get_issue", "look at customfield_1"),
    (refuse(413, "made-up"), "get_issue", "more than Jira takes"),
    (VendorRefusal(403, {"code": 403, "message": "Forbidden; scope does not match"}), "get_issue", "lacks the scope"),
    (VendorRefusal(500, {"message": "made-up"}), "get_issue", "try again later"),
    (VendorRefusal(503, {}, {"Retry-After": "600"}), "get_issue", "600 s"),
]  # fmt: skip


@pytest.mark.parametrize(("refusal", "tool", "text"), REFUSALS, ids=[one[2] for one in REFUSALS])
async def test_a_documented_error_says_what_to_do(
    app: ModuleApp, vendor: JiraDouble, issue: str, refusal: VendorRefusal, tool: str, text: str
) -> None:
    params = {"jql": "x = y"} if tool == "search_issues" else {"issue": issue}
    answer = await app.call_refused(vendor, refusal, tool, **params)
    assert answer.failed
    assert text in answer.text
    assert "made-up" not in answer.text


async def test_a_ragged_table_loses_no_cell(app: ModuleApp, vendor: JiraDouble, issue: str) -> None:
    await app.read("update_issue", issue=issue, description=RAGGED)
    shown = str(vendor.world.issues[issue]["description"]).replace("`", "")
    assert [cell for cell in "123456" if f"'{cell}'" not in shown] == []


BAD_INPUT: list[tuple[str, dict[str, Any], str]] = [
    ("get_issue", {"issue": "no key"}, "issue"),
    ("get_issue", {"issue": "ABC-1", "unknown": 1}, "unknown"),
    ("search_issues", {"jql": " order BY updated"}, "no restriction"),
    ("search_issues", {"jql": "a = b", "cursor": "bm8="}, "cursor"),
    ("list_comments", {"issue": "ABC-1", "cursor": "LTE="}, "cursor"),
    ("list_comments", {"issue": "ABC-1", "per_page": 101}, "per_page"),
    ("create_issue", {"project": "a/b", "type": "Task", "summary": "x"}, "project"),
    ("create_issue", {"project": "ABC", "type": "Task", "summary": "x", "due": "2026-02-30"}, "due"),
    ("create_issue", {"project": "ABC", "type": "Task", "summary": "x", "labels": ["a b"]}, "labels"),
    ("create_issue", {"project": "ABC", "type": "Task", "summary": "x", "fields": {"Day": "31.1."}}, "Day takes a day"),
    ("create_issue", {"project": "ABC", "type": "Task", "summary": "x", "fields": {"Starts": "2026-01-31"}}, "zone"),
    ("create_issue", {"project": "ABC", "type": "Task", "summary": "x", "fields": {"Day": "2026-02-30"}}, "Day takes"),
    ("create_issue", {"project": "ABC", "type": "Task", "summary": "x",
                      "fields": {"Starts": "2026-02-30T09:00Z"}}, "exists"),
    ("add_worklog", {"issue": "ABC-1", "time": "1h", "started": "2026-02-30T12:00:00Z"}, "started"),
    ("create_issue", {"project": "ABC", "type": "Task", "summary": "x", "fields": {"Teams": "a"}}, "similar: Team"),
    ("create_issue", {"project": "ABC", "type": "Task", "summary": "x", "fields": {"Twice": "a"}}, "customfield_10008"),
    ("create_issue", {"project": "ABC", "type": "Task", "summary": "x", "description": "x" * 32_768}, "description"),
    ("update_issue", {"issue": "ABC-1"}, "nothing to change"),
    ("update_issue", {"issue": "ABC-1", "description_changes": [{"old": "nowhere", "new": "x"}]}, "0 times"),
    ("assign_issue", {"issue": "ABC-1", "assignee": "bob@else.test"}, "assignee"),
    ("link_issues", {"issue": "ABC-1", "relation": "hates", "other": "ABC-2"}, "is blocked by"),
    ("add_worklog", {"issue": "ABC-1", "time": "soon"}, "time"),
    ("add_worklog", {"issue": "ABC-1", "time": "1.5d"}, "time"),
    ("add_worklog", {"issue": "ABC-1", "time": "1h", "started": "2026-01-31T12:00:00"}, "started"),
    ("add_comment", {"issue": "ABC-1", "text": "[](date:2026-02-30)"}, "no day"),
    ("add_comment", {"issue": "ABC-1", "text": "x", "visible_to_role": "a", "visible_to_group": "b"}, "either"),
    ("update_comment", {"issue": "ABC-1", "comment_id": "../1", "text": "x"}, "comment_id"),
    ("update_worklog", {"issue": "ABC-1", "worklog_id": "1"}, "nothing to change"),
    ("update_worklog", {"issue": "ABC-1", "worklog_id": "1", "time": "soon"}, "time"),
    ("update_issue", {"issue": "ABC-1", "parent": "nobody"}, "parent"),
    ("unlink_issues", {"issue": "ABC-1", "other": "somewhere"}, "other"),
    ("get_create_fields", {"project": "ABC", "type": "Epic"}, "Task, Bug"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "params", "name"), BAD_INPUT, ids=[f"{one[0]}-{one[2]}" for one in BAD_INPUT])
async def test_bad_input_names_the_parameter(
    app: ModuleApp, vendor: JiraDouble, tool: str, params: dict[str, Any], name: str
) -> None:
    vendor.world.issues.setdefault("ABC-1", {"summary": "x", "description": None})
    before = len(vendor.seen)
    answer = await app.call(tool, **params)
    assert answer.failed
    assert name in answer.text
    assert [one for one in vendor.seen[before:] if not one.startswith("GET")] == []


async def test_a_write_that_may_have_arrived_is_not_repeated(app: ModuleApp, vendor: JiraDouble, issue: str) -> None:
    for reply in (VendorRefusal(502, {}), VendorReply(201, b"<html>")):
        vendor.refusals[:] = [reply]
        before = len(vendor.seen)
        answer = await app.call("add_comment", issue=issue, text="x")
        vendor.refusals.clear()
        assert answer.failed
        assert "look before you try again" in answer.text
        assert len(vendor.seen) == before + 1


@pytest.mark.parametrize("reason", ["jira-quota-tenant-based", "jira-burst-based"])
async def test_a_rate_limit_is_told_and_kept(app: ModuleApp, vendor: JiraDouble, issue: str, reason: str) -> None:
    answer = await app.call_refused(vendor, refuse_for_limit(90, reason), "get_issue", issue=issue)
    assert answer.failed
    assert "try again in 90 s" in answer.text
    before = len(vendor.seen)
    again = await app.call_as(app.eve, "add_comment", issue=issue, text="x")
    assert again.failed
    assert "try again in 90 s" in again.text
    assert vendor.seen[before:] == [], "nothing is asked while the limit holds"


async def test_a_connection_without_the_scope(app: ModuleApp, vendor: JiraDouble, issue: str) -> None:
    await app.reconnect(app.eve, "reader", vendor)
    before = len(vendor.seen)
    for _ in range(3):  # a refusal for the scope alone ends no credential
        answer = await app.call_as(app.eve, "delete_issue", issue=issue)
        assert answer.failed
        assert "the connection lacks the scope for this: connect the account again" in answer.text
    assert len(vendor.seen) == before + 3
    assert issue in vendor.world.issues
    assert not (await app.call_as(app.eve, "get_issue", issue=issue)).failed


async def test_odd_rows_cost_themselves_only(app: ModuleApp, vendor: JiraDouble, issue: str) -> None:
    vendor.world.issues[issue] |= {
        "assignee": None,
        "priority": None,
        "labels": None,
        "customfield_99": {"new": {"a": 1}},
    }
    del vendor.world.issues[issue]["status"]
    found = await app.read("get_issue", issue=issue)
    assert "status" not in found
    assert found["fields"]["customfield_99"] == '{"new":{"a":1}}'


async def test_an_answer_costs_a_third_of_jiras(app: ModuleApp, vendor: JiraDouble) -> None:
    vendor.world.issues.clear()  # those of other tests, of which some have hardly a field
    for number in range(20):
        vendor.world.add(f"Something to do {number}", assignee=BOB)
    before = len(vendor.answers)
    found = await app.read("search_issues", jql="project = ABC", per_page=20)
    raw = vendor.answers[before]  # what Jira answers to the fields that were asked for, not to all
    assert len(found["issues"]) == len(orjson.loads(raw)["issues"]) == 20
    assert all("fields" not in one for one in found["issues"])
    assert tokens(orjson.dumps(found).decode()) * 3 <= tokens(raw.decode())


async def test_an_internal_note_with_a_step(app: ModuleApp, vendor: JiraDouble, issue: str) -> None:
    """A comment that goes with a transition would be the customer's, too."""
    await app.read("transition_issue", issue=issue, to="Start", comment="only for us", internal=True)
    assert vendor.world.comments[issue][0]["jsdPublic"] is False
    [note] = (await app.read("list_comments", issue=issue))["comments"]
    assert (note["text"], note["internal"]) == ("only for us", True)
    await app.read("update_comment", issue=issue, comment_id=note["id"], text="still for us")
    [note] = (await app.read("list_comments", issue=issue))["comments"]
    assert (note["text"], note["internal"]) == ("still for us", True)
    before = len(vendor.seen)
    answer = await app.call("transition_issue", issue=issue, to="Start", internal=True)
    assert answer.failed
    assert "internal" in answer.text
    assert vendor.seen[before:] == []


async def test_objects_and_lists_as_json_text(app: ModuleApp, vendor: JiraDouble) -> None:
    """Clients send so what is an object in the schema (sooperset/mcp-atlassian#318)."""
    made = await app.read(
        "create_issue", project="ABC", type="Task", summary='{"not": "an object"}', labels='["a", "b"]',
        fields='{"Team": "Red", "colours": ["Red"]}',
    )  # fmt: skip
    stored = vendor.world.issues[made["key"]]
    assert (stored["summary"], stored["labels"]) == ('{"not": "an object"}', ["a", "b"])
    assert stored["customfield_10000"] == {"value": "Red"}
    answer = await app.call("create_issue", project="ABC", type="Task", summary="x", fields='{"Team": "Red"')
    assert answer.failed
    assert "fields" in answer.text
