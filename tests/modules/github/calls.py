"""A call of every tool that is as it should be, in a repository whose first issue is a pull request from `dev`."""

from typing import Any

from tests.modules.github.conftest import named
from tests.support.github_double import Repository
from tests.support.github_double.parts import Asset, CheckRun, Job, Label, LineComment, Milestone, Workflow
from tests.support.github_double.world import Comment, Notification, Pull, Release, Review, Run, World, blob_sha

WORDS = "議事録 ملاحظات"

READS: dict[str, dict[str, Any]] = {
    "list_repositories": {},
    "get_repository_tree": {},
    "list_commits": {},
    "get_commit": {"ref": "main"},
    "get_diff": {"ref": "main"},
    "list_branches": {},
    "list_tags": {},
    "get_file_contents": {"path": "README.md"},
    "list_issues": {},
    "get_issue": {"issue_number": 2, "comments": True},
    "list_pull_requests": {},
    "get_pull_request": {"pull_number": 1, "include": "files"},
    "search_issues": {"q": "is:issue"},
    "search_code": {"q": "print"},
    "search_repositories": {"q": "app"},
    "get_me": {},
    "list_user_events": {"username": "mona"},
    "list_notifications": {},
    "list_workflow_runs": {},
    "list_workflows": {},
    "list_workflow_jobs": {"run_id": 1},
    "get_checks": {"ref": "main"},
    "list_labels": {},
    "list_milestones": {},
    "list_sub_issues": {"issue_number": 2},
    "get_issue_comment": {"comment_id": 1},
    "list_review_comments": {"pull_number": 1},
    "list_releases": {},
    "get_latest_release": {},
    "get_release": {"tag": "v0"},
    "list_release_assets": {"release_id": 1},
    "get_release_asset": {"asset_id": 1},
    "get_job_logs": {"job_id": 1},
    "list_review_threads": {"pull_number": 1},
}
WRITES: dict[str, dict[str, Any]] = {
    "create_branch": {"branch": "new"},
    "delete_branch": {"branch": "old"},
    "create_or_update_file": {"path": "a", "message": "m", "content": "c"},
    "delete_file": {"path": "gone.txt", "message": "m", "sha": blob_sha(b"1")},
    "push_files": {"branch": "main", "message": "m", "files": [{"path": "a", "content": "c"}]},
    "create_issue": {"title": "t"},
    "create_github_issue": {"title": "t", "body": "b"},
    "update_issue": {"issue_number": 2, "title": "t"},
    "create_pull_request": {"title": "t", "head": "old", "base": "main"},
    "update_pull_request": {"pull_number": 1, "title": "t"},
    "merge_pull_request": {"pull_number": 1},
    "update_pull_request_branch": {"pull_number": 1},
    "add_issue_comment": {"issue_number": 2, "body": "b"},
    "create_pull_request_review": {"pull_number": 1, "event": "APPROVE"},
    "mark_notification_read": {"thread_id": "1"},
    "update_issue_comment": {"comment_id": 1, "body": "b"},
    "create_label": {"name": "new"},
    "update_label": {"name": "l", "color": "ffffff"},
    "add_issue_labels": {"issue_number": 1, "labels": ["l"]},
    "remove_issue_label": {"issue_number": 1, "name": "l"},
    "change_issue_labels": {"issue_numbers": [1], "add": ["l"]},
    "create_milestone": {"title": "t"},
    "update_milestone": {"milestone_number": 1, "title": "t"},
    "add_sub_issue": {"issue_number": 1, "sub_issue_number": 2},
    "remove_sub_issue": {"issue_number": 1, "sub_issue_number": 3},
    "reply_to_review_comment": {"pull_number": 1, "comment_id": 1, "body": "b"},
    "update_review_comment": {"comment_id": 1, "body": "b"},
    "request_reviewers": {"pull_number": 1, "reviewers": ["mona"]},
    "dispatch_workflow": {"workflow": "ci.yml", "ref": "main"},
    "create_release": {"tag_name": "v1"},
    "update_release": {"release_id": 1, "name": "n"},
    "upload_release_asset": {"release_id": 1, "name": "new.txt", "text": "x"},
    "update_release_asset": {"asset_id": 1, "name": "n"},
    "delete_issue_comment": {"comment_id": 1},
    "delete_label": {"name": "l"},
    "delete_milestone": {"milestone_number": 1},
    "delete_review_comment": {"comment_id": 1},
    "delete_release": {"release_id": 1},
    "delete_release_asset": {"asset_id": 1},
    "rerun_workflow_run": {"run_id": 1},
    "cancel_workflow_run": {"run_id": 2},
    "delete_workflow_run": {"run_id": 1},
    "update_review": {"pull_number": 1, "review_id": 2, "body": "b"},
    "dismiss_review": {"pull_number": 1, "review_id": 3, "message": "m"},
    "delete_pending_review": {"pull_number": 1, "review_id": 4},
    "resolve_review_thread": {"thread_id": "PRRT_1"},
    "set_pull_request_draft": {"pull_number": 1, "draft": True},
}
OF_NO_REPOSITORY = {
    "list_repositories",
    "search_issues",
    "search_code",
    "search_repositories",
    "get_me",
    "list_user_events",
    "list_notifications",
    "mark_notification_read",
    "resolve_review_thread",
}
CALLS = READS | WRITES


def complete(tool: str, home: Repository) -> dict[str, Any]:
    """The parameters of a tool's call in a repository."""
    if tool in OF_NO_REPOSITORY:
        return CALLS[tool]
    repository = {"repo": home.full_name} if tool == "create_github_issue" else named(home)
    return {**repository, **CALLS[tool]}


def furnish(world: World, home: Repository) -> None:
    """Put into the repository what the calls ask for."""
    at = home.created
    for branch in ("dev", "old", "third"):
        world.commit(home, {branch: b"1"}, branch=branch)
    world.commit(home, {"gone.txt": b"1", "gone too.txt": b"2"})
    home.tags |= {"v0": home.branches["main"], "v1.0": home.branches["main"]}
    said = [LineComment(number, "mona", "dev", 1, WORDS, at) for number in (1, 2)]
    given = (("hubot", "COMMENTED"), ("mona", "COMMENTED"), ("hubot", "APPROVED"), ("mona", "PENDING"))
    reviews = [Review(number, user, WORDS, state, "x", at) for number, (user, state) in enumerate(given, 1)]
    pull = Pull("dev", "main", line_comments=said, reviews=reviews)
    world.issue(home, WORDS, "hubot", labels=["l"], pull=pull, body=WORDS)
    world.issue(home, "Two", "eve", body=WORDS).comments += [Comment(number, "eve", WORDS, at) for number in (1, 2)]
    parts = [world.issue(home, WORDS, "mona").id for _ in range(2)]
    home.issues[1].sub_issues += parts
    home.issues[2].sub_issues += [world.issue(home, WORDS, "mona").id for _ in range(2)]
    world.issue(home, WORDS, "mona", pull=Pull("third", "main"))
    home.parts.labels |= {"l": Label("l", description=WORDS), "m": Label("m")}
    home.parts.milestones |= {1: Milestone(1, WORDS), 2: Milestone(2, "M")}
    assets = [Asset(number, f"{number}.txt", WORDS.encode()) for number in (1, 2)]
    notes = [Release("v0", WORDS, WORDS, at, id=1, assets=assets), Release("v1.0", "B", WORDS, at, id=2)]
    home.releases[:] = notes
    workflows = [
        Workflow(number, WORDS, f".github/workflows/{name}.yml", inputs={}) for number, name in ((1, "ci"), (2, "cd"))
    ]
    home.parts.workflows[:] = workflows
    jobs = [Job(number, "test", "completed", "success", at, at, log=WORDS.encode()) for number in (1, 2)]
    states = ((1, "completed", "success"), (2, "in_progress", None))
    home.runs[:] = [
        Run(
            number,
            WORDS,
            "main",
            home.branches["main"],
            "push",
            status,
            conclusion,
            "mona",
            at,
            jobs=jobs if number == 1 else [],
        )
        for number, status, conclusion in states
    ]
    home.parts.check_runs[home.branches["main"]] = [CheckRun(1, "lint"), CheckRun(2, "test")]
    world.notifications["mona"] = [
        Notification(str(number), home, 2, WORDS, "mention", unread=True, at=world.now()) for number in (1, 2)
    ]
