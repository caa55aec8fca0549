"""What every tool of Jira's goes through."""

from collections.abc import Mapping

import pytest

from core.http.credential_headers import CredentialScheme
from modules.jira import MODULE
from tests.support.jira_double import PAIR, JiraDouble, jira_double
from tests.support.jira_double.forms import refuse_for_limit
from tests.support.jira_double.server import NOTHING
from tests.support.jira_double.world import World, make_person
from tests.support.module_app import make_app_fixtures
from tests.support.resource_walk import ResourceWalk
from tests.support.tool_calls import Calls
from tests.support.tool_walk import ToolWalk
from tests.support.vendor_double import VendorRefusal

pytestmark = pytest.mark.asyncio(loop_scope="module")
TEXT = {"type": "text", "text": "議事録 ملاحظات"}
DOCUMENT = {"version": 1, "type": "doc", "content": [{"type": "paragraph", "content": [TEXT]}]}

vendor, app = make_app_fixtures(
    MODULE, jira_double, adas=PAIR, eves="reader", scheme=CredentialScheme(kind="basic_pair")
)


class TestEveryTool(ToolWalk):
    module = MODULE
    eves = "reader"
    apart = frozenset({"body", "comment", "fields", "names"})
    ids = frozenset({"issue", "other", "comment_id", "worklog_id", "project"})
    reads = "/search/"

    def furnish(self, vendor: JiraDouble) -> Calls:
        world = vendor.world = World()
        world.projects["DEF"] = "図面 رسم"
        world.people.append(make_person("5c", "Grace グレース", "Asia/Tokyo"))
        key, other = world.add("議事録 ملاحظات", description=DOCUMENT), world.add("Two")
        for _ in range(2):
            vendor.add_comment(key, DOCUMENT)
            vendor.add_worklog(key, comment=DOCUMENT)
            vendor.change(key, summary="議事録 ملاحظات")
        world.links.append(
            {"id": "10000", "type": {"id": "1"}, "inwardIssue": {"key": key}, "outwardIssue": {"key": other}}
        )
        issue = {"issue": key}
        return {
            "list_projects": {},
            "search_users": {"query": "a"},
            "get_myself": {},
            "search_issues": {"jql": "project = ABC"},
            "get_issue": issue,
            "get_changelog": issue,
            "create_issue": {"project": "ABC", "type": "Task", "summary": "議事録", "description": "# 議題\n\n- 予算"},
            "update_issue": {**issue, "summary": "New", "fields": {"Story points": 3}},
            "assign_issue": {**issue, "assignee": "nobody"},
            "delete_issue": issue,
            "link_issues": {**issue, "relation": "relates to", "other": other},
            "unlink_issues": {**issue, "other": other},
            "list_transitions": issue,
            "transition_issue": {**issue, "to": "Start"},
            "list_comments": issue,
            "add_comment": {**issue, "text": "**第一** تعليق"},
            "update_comment": {**issue, "comment_id": "1", "text": "第二"},
            "delete_comment": {**issue, "comment_id": "1"},
            "list_worklogs": issue,
            "add_worklog": {**issue, "time": "1h", "text": "作業"},
            "update_worklog": {**issue, "worklog_id": "1", "time": "2h"},
            "delete_worklog": {**issue, "worklog_id": "1"},
            "list_fields": {},
            "get_create_fields": {"project": "ABC", "type": "Task"},
        }

    def make_keys(self, vendor: JiraDouble) -> Mapping[str, str]:
        vendor.tokens |= {"powerless": set(), "limited": vendor.tokens["full"]}
        vendor.tokens["stranger"] = vendor.tokens["full"] | {NOTHING}
        return {name: name for name in ("powerless", "reader", "stranger", "limited")}

    def make_limit(self, seconds: int) -> VendorRefusal:
        return refuse_for_limit(seconds, "jira-quota-tenant-based")


class TestEveryResource(ResourceWalk):
    walk = TestEveryTool()
    typed = {"issue.key": "議事録", "open_issues.key": "Alpha"}  # noqa: RUF012

    def attach(self, calls: Calls) -> Mapping[str, Mapping[str, str]]:
        return {"issue": {"key": calls["get_issue"]["issue"]}, "open_issues": {"key": "ABC"}}
