"""What people attach to a chat from Jira: an issue with its comments, the open issues of a project."""

import asyncio
import re
from collections.abc import Mapping
from typing import Annotated

from modules.jira.comments import JiraComment, JiraComments, list_comments
from modules.jira.issue_reading import FoundJiraIssues, JiraIssue, get_issue, search_issues
from modules.jira.lookups import JiraProjects, list_projects
from modules.jira.parameters import READ_WORK, IssueKey, ProjectKey
from modules.kit import FOR_MODELS, Context, ResourceContents, read_json_resource, resource
from modules.kit.completions import MAX_VALUES, Option, ask_tool, choose_values, keep_words
from modules.kit.results import LEFT_OUT_IF_EMPTY, Count, ResultModel

_KEY = re.compile(r"([A-Za-z][A-Za-z0-9_]{0,30})-[0-9]{0,10}")


class JiraIssueWithComments(ResultModel):
    """`more_comments` are those beyond the first hundred."""

    issue: JiraIssue
    comments: Annotated[list[JiraComment], LEFT_OUT_IF_EMPTY] = []  # noqa: RUF012
    more_comments: Count = 0


async def complete_issue(context: Context, typed: str, known: Mapping[str, str]) -> list[str]:
    """Complete the key of an issue: of a project where that was typed, else by words of its summary."""
    found = await ask_tool(context, search_issues, FoundJiraIssues, jql=_write_jql(typed), per_page=MAX_VALUES)
    begins = typed if _KEY.fullmatch(typed.strip()) else ""
    return choose_values((Option(row.key) for row in found.issues), begins)


def _write_jql(typed: str) -> str:
    if key := _KEY.fullmatch(typed.strip()):
        return f'project = "{key[1]}" ORDER BY updated DESC'
    words = keep_words(typed)
    if not words:
        return "updated >= -30d ORDER BY updated DESC"
    return f'summary ~ "{words}*" ORDER BY updated DESC'


async def complete_project(context: Context, typed: str, known: Mapping[str, str]) -> list[str]:
    """Complete the key of a project, by its key or its name."""
    found = await ask_tool(context, list_projects, JiraProjects, query=typed[:200] or None, per_page=MAX_VALUES)
    return choose_values((Option(row.key, row.name) for row in found.projects), typed)


@resource(
    "resource://jira/issues/{key}",
    mime_type="application/json",
    annotations=FOR_MODELS,
    scopes=[READ_WORK],
    title="Issue",
    complete={"key": complete_issue},
)
async def issue(context: Context, key: IssueKey) -> ResourceContents:
    """An issue with all its fields and its first hundred comments."""
    found, talk = await asyncio.gather(
        ask_tool(context, get_issue, JiraIssue, issue=key),
        ask_tool(context, list_comments, JiraComments, issue=key, per_page=100),
    )
    more = max(0, (talk.total or 0) - len(talk.comments))
    return read_json_resource(JiraIssueWithComments(issue=found, comments=talk.comments, more_comments=more))


@resource(
    "resource://jira/projects/{key}/open_issues",
    mime_type="application/json",
    annotations=FOR_MODELS,
    scopes=[READ_WORK],
    title="Open issues of a project",
    complete={"key": complete_project},
)
async def open_issues(context: Context, key: ProjectKey) -> ResourceContents:
    """The open issues of a project, the hundred that were changed last."""
    jql = f'project = "{key}" AND statusCategory != Done ORDER BY updated DESC'
    return read_json_resource(await search_issues.run(context, jql=jql, per_page=100))


RESOURCES = (issue, open_issues)
