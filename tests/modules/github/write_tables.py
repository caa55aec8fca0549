"""Writing tools with parameters that fit them, beside those of the first set."""

from typing import Any

FURTHER_WRITES: dict[str, dict[str, Any]] = {
    "update_issue_comment": {"comment_id": 1, "body": "b"},
    "create_label": {"name": "new"},
    "update_label": {"name": "l", "color": "ffffff"},
    "add_issue_labels": {"issue_number": 1, "labels": ["l"]},
    "remove_issue_label": {"issue_number": 1, "name": "l"},
    "create_milestone": {"title": "t"},
    "update_milestone": {"milestone_number": 1, "title": "t"},
    "add_sub_issue": {"issue_number": 1, "sub_issue_number": 2},
    "remove_sub_issue": {"issue_number": 1, "sub_issue_number": 2},
    "reply_to_review_comment": {"pull_number": 1, "comment_id": 1, "body": "b"},
    "update_review_comment": {"comment_id": 1, "body": "b"},
    "request_reviewers": {"pull_number": 1, "reviewers": ["mona"]},
    "dispatch_workflow": {"workflow": "ci.yml", "ref": "main"},
    "create_release": {"tag_name": "v1"},
    "update_release": {"release_id": 1, "name": "n"},
    "upload_release_asset": {"release_id": 1, "name": "new.txt", "text": "x"},
    "update_release_asset": {"asset_id": 1, "name": "n"},
}
CONFIRMED_WRITES: dict[str, dict[str, Any]] = {
    "delete_issue_comment": {"comment_id": 1},
    "delete_label": {"name": "l"},
    "delete_milestone": {"milestone_number": 1},
    "delete_review_comment": {"comment_id": 1},
    "delete_release": {"release_id": 1},
    "delete_release_asset": {"asset_id": 1},
    "rerun_workflow_run": {"run_id": 1},
    "cancel_workflow_run": {"run_id": 1},
}
"""Those whose answer is a status and nothing else."""
