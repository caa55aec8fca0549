"""Which tools change what of GitHub's can be attached to a chat. Some name a comment, which does not say of what."""

from collections.abc import Iterable, Mapping
from typing import Any

from modules.github.resources import file, issue, pull_request, pull_request_diff, readme
from modules.kit.resource_changes import Arguments, ChangedResource, changed


def _select_issues(arguments: Arguments) -> Iterable[Mapping[str, Any]]:
    return [{**_get_place(arguments), "number": number} for number in arguments["issue_numbers"]]


def _select_files(arguments: Arguments) -> Iterable[Mapping[str, Any]]:
    return [{**_get_place(arguments), "path": one.path} for one in arguments["files"]]


def _select_sub_issue(arguments: Arguments) -> Iterable[Mapping[str, Any]]:
    place = _get_place(arguments)
    return [{**place, "number": arguments[name]} for name in ("issue_number", "sub_issue_number")]


def _get_place(arguments: Arguments) -> dict[str, Any]:
    return {name: arguments[name] for name in ("owner", "repo")}


_README = changed(readme, owner="owner", repo="repo")
_FILE = changed(file, owner="owner", repo="repo", path="path")
_ISSUE = changed(issue, owner="owner", repo="repo", number="issue_number")
_PULL = changed(pull_request, owner="owner", repo="repo", number="pull_number")
_DIFF = changed(pull_request_diff, owner="owner", repo="repo", number="pull_number")
CHANGES = {
    **dict.fromkeys(("create_or_update_file", "delete_file"), (_README, _FILE)),
    "push_files": (_README, ChangedResource(file, _select_files)),
    **dict.fromkeys(("update_issue", "add_issue_comment", "add_issue_labels", "remove_issue_label"), (_ISSUE,)),
    "change_issue_labels": (ChangedResource(issue, _select_issues),),
    **dict.fromkeys(("add_sub_issue", "remove_sub_issue"), (ChangedResource(issue, _select_sub_issue),)),
    **dict.fromkeys(("update_pull_request", "merge_pull_request", "update_pull_request_branch"), (_PULL, _DIFF)),
    **dict.fromkeys(
        (
            "create_pull_request_review", "request_reviewers", "update_review", "dismiss_review",
            "delete_pending_review", "set_pull_request_draft",
        ),
        (_PULL,),
    ),
}  # fmt: skip
