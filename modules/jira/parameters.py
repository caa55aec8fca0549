"""Parameters that several of Jira's tools share, and the scopes of Atlassian's that they need."""

import re
from datetime import date
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from modules.kit.parameters import OptionalParameter, limit_length

# Jira Service Management's mark of an internal note (the description has no more of it than `properties`): a role hides
# nothing in its portal (https://github.com/atlassian/atlassian-mcp-server/issues/139).
INTERNAL_NOTE: list[dict[str, Any]] = [{"key": "sd.public.comment", "value": {"internal": True}}]
READ_WORK = "read:jira-work"
WRITE_WORK = "write:jira-work"
READ_USERS = "read:jira-user"

_ISSUE = re.compile(
    r"(?:https://[a-z0-9.-]{1,200}/(?:jira/)?browse/)?([A-Za-z][A-Za-z0-9_]{0,30}-[0-9]{1,10}|[0-9]{1,18})"
)
_PROJECT = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,30}|[0-9]{1,18}")
_ACCOUNT = re.compile(r"[A-Za-z0-9:_-]{1,128}")
_ONLY_ORDER = re.compile(r"\s*(?:order\s+by\s.*)?", re.IGNORECASE | re.DOTALL)
_NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

MAX_TEXT = 32_767
"""Characters of a description or comment (Jira's limit on the text of a field)."""


NO_ISSUE = "none"


def _check_issue(text: str) -> str:
    found = _ISSUE.fullmatch(text.strip())
    if not found:
        raise ValueError("is no issue: give its key, such as ABC-123, its id or its address")
    return found[1].upper()


def _check_issue_or_none(text: str) -> str:
    return NO_ISSUE if text.strip().lower() == NO_ISSUE else _check_issue(text)


def _check_project(text: str) -> str:
    if not _PROJECT.fullmatch(text.strip()):
        raise ValueError("is no project: give its key, such as ABC, or its id")
    return text.strip().upper()


def _check_account(text: str) -> str:
    if not _ACCOUNT.fullmatch(text.strip()):
        raise ValueError("is no accountId: names and e-mail addresses are none; search for the user")
    return text.strip()


def _check_jql(text: str) -> str:
    if _ONLY_ORDER.fullmatch(text):
        raise ValueError("has no restriction, which Jira refuses: add one, such as project = ABC or updated >= -30d")
    return text


def check_day(text: str) -> str:
    """Check a day such as ``2026-01-31``.

    Raises:
        ValueError: it is none, or does not exist.
    """
    try:
        found = _DAY.fullmatch(text) and date.fromisoformat(text)
    except ValueError:
        found = None
    if not found:
        raise ValueError("is no day that exists: write it as 2026-01-31")
    return text


def _check_number(text: str) -> str:
    if not _NUMBER.fullmatch(text.strip()):
        raise ValueError("is no id of Jira's: digits, as in the list that was read")
    return text.strip()


IssueKey = Annotated[str, limit_length(1, 300), AfterValidator(_check_issue), Field(description="Issue: ABC-1")]
IssueKeyOrNone = Annotated[str, limit_length(1, 300), AfterValidator(_check_issue_or_none)]
ProjectKey = Annotated[str, limit_length(1, 100), AfterValidator(_check_project), Field(description="Project key")]
PartId = Annotated[str, limit_length(1, 30), AfterValidator(_check_number)]
AccountId = Annotated[str, limit_length(1, 200), AfterValidator(_check_account), Field(description="accountId")]
Jql = Annotated[str, limit_length(1, 10_000), AfterValidator(_check_jql)]
Day = Annotated[str, limit_length(1, 50), AfterValidator(check_day)]
Markdown = Annotated[str, limit_length(1, MAX_TEXT), Field(description="Markdown")]
FieldValues = Annotated[
    OptionalParameter[dict[str, Any]],
    Field(description="By name or id; people by accountId; null clears"),
]
