"""What is attached to a chat from Jira, through `/mcp`: how issues are looked for by what is typed."""

import orjson
import pytest

from core.http.credential_headers import CredentialScheme
from modules.jira import MODULE
from tests.support.jira_double import PAIR, JiraDouble, jira_double
from tests.support.module_app import ModuleApp, make_app_fixtures

pytestmark = pytest.mark.asyncio(loop_scope="module")

vendor, app = make_app_fixtures(
    MODULE, jira_double, adas=PAIR, eves="reader", scheme=CredentialScheme(kind="basic_pair")
)


@pytest.mark.parametrize(
    ("typed", "jql"),
    [
        ("", "updated >= -30d ORDER BY updated DESC"),
        ("*\\\"'", "updated >= -30d ORDER BY updated DESC"),
        ("ABC-1", 'project = "ABC" ORDER BY updated DESC'),
        ("abc-", 'project = "abc" ORDER BY updated DESC'),
        ("sign-in page", 'summary ~ "sign in page*" ORDER BY updated DESC'),
        ('x" OR project = "SECRET', 'summary ~ "x OR project SECRET*" ORDER BY updated DESC'),
        ("議事録", 'summary ~ "議事録*" ORDER BY updated DESC'),
    ],
)
async def test_issues_are_looked_for_by_what_is_typed(app: ModuleApp, vendor: JiraDouble, typed: str, jql: str) -> None:
    reference = {"type": "ref/resource", "uri": "resource://jira/issues/{key}"}
    before = len(vendor.seen)
    params = {"ref": reference, "argument": {"name": "key", "value": typed}}
    await app.node.post(app.ada.token, "completion/complete", params)
    assert len(vendor.seen) - before == 1
    assert orjson.loads(vendor.bodies[-1])["jql"] == jql
    assert vendor.wrong == []


async def test_an_issue_has_its_comments_and_says_how_many_are_left(app: ModuleApp, vendor: JiraDouble) -> None:
    key = vendor.world.add("An issue")
    text = {"type": "paragraph", "content": [{"type": "text", "text": "Agreed"}]}
    for _ in range(103):
        vendor.add_comment(key, {"version": 1, "type": "doc", "content": [text]})
    uri = f"resource://jira/issues/{key}"
    (content,) = (await app.node.post(app.ada.token, "resources/read", {"uri": uri})).result["contents"]
    found = orjson.loads(content["text"])
    assert (found["issue"]["summary"], len(found["comments"]), found["more_comments"]) == ("An issue", 100, 3)
    assert found["comments"][0]["text"] == "Agreed"
