"""Which tools change what of Jira's can be attached to a chat."""

from collections.abc import Iterable, Mapping
from typing import Any

from modules.jira.resources import issue, open_issues
from modules.kit.resource_changes import Arguments, ChangedResource, changed


def _find_project(arguments: Arguments) -> Iterable[Mapping[str, Any]]:
    """The project is a part of a key, and of no numeric id."""
    project, dash, _ = str(arguments["issue"]).partition("-")
    return [{"key": project}] if dash else []


_ISSUE = changed(issue, key="issue")
_ROW = (_ISSUE, ChangedResource(open_issues, _find_project))
CHANGES = {
    "create_issue": (changed(open_issues, key="project"),),
    **dict.fromkeys(("update_issue", "assign_issue", "delete_issue", "transition_issue"), _ROW),
    **dict.fromkeys(("link_issues", "unlink_issues"), (_ISSUE, changed(issue, key="other"))),
    **dict.fromkeys(("add_comment", "update_comment", "delete_comment"), (_ISSUE,)),
}
