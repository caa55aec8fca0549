"""Issues, their comments, and pull requests with their reviews."""

from tests.support.github_double import answers, git_data
from tests.support.github_double.call import Call, Refused, Reply, demand_filled
from tests.support.github_double.issue_parts import render_comment
from tests.support.github_double.line_talk import add_line_comments, find_pull
from tests.support.github_double.paging import paged
from tests.support.github_double.world import Comment, Issue, Pull, Repository, Review

ISSUE = "/repos/{owner}/{repo}/issues/{issue_number}"
PULL = "/repos/{owner}/{repo}/pulls/{pull_number}"


def issues(call: Call) -> Reply:
    home, asked = call.repository(), call.query
    state, labels = asked.get("state", "open"), set(filter(None, asked.get("labels", "").split(",")))
    found = [
        one
        for one in home.issues.values()
        if state in (one.state, "all")
        and labels <= set(one.labels)
        and asked.get("creator", one.user) == one.user
        and _assigned(asked.get("assignee"), one)
        and f"@{asked.get('mentioned', '')}" in f"@{one.body}"
        and _planned(asked.get("milestone"), one)
        and asked.get("since", "") <= one.updated
    ]
    order = {
        "created": lambda one: one.created,
        "updated": lambda one: one.updated,
        "comments": lambda one: len(one.comments),
    }
    found.sort(key=order[asked.get("sort", "created")], reverse=asked.get("direction", "desc") == "desc")
    return paged(call, found, lambda one: answers.issue(call, one, home))


def _assigned(wanted: str | None, one: Issue) -> bool:
    if wanted in (None, "*", "none"):
        return wanted is None or bool(one.assignees) == (wanted == "*")
    return wanted in one.assignees


def _planned(wanted: str | None, one: Issue) -> bool:
    if wanted in (None, "*", "none"):
        return wanted is None or (one.milestone is not None) == (wanted == "*")
    return one.milestone == int(wanted)


def issue(call: Call) -> Reply:
    home, one = _issue(call)
    return Reply(200, answers.issue(call, one, home))


def comments(call: Call) -> Reply:
    _, one = _issue(call)
    return paged(call, one.comments, lambda comment: render_comment(call, comment))


def new_issue(call: Call) -> Reply:
    home = call.repository()
    if not home.has_issues:
        raise Refused(410, "Issues has been disabled in this repository.")
    if home.archived or (call.token.scopes is None and not call.token.writes):
        call.writable()
    demand_filled(call, "Issue", "title")
    one = call.world.issue(home, call.body["title"], call.token.login, body=call.body.get("body"))
    _change(call, home, one)
    return Reply(201, answers.issue(call, one, home))


def change_issue(call: Call) -> Reply:
    home, one = _issue(call)
    if one.user != call.token.login:
        call.writable()
    _change(call, home, one)
    return Reply(200, answers.issue(call, one, home))


def _change(call: Call, home: Repository, one: Issue) -> None:
    strangers = [name for name in call.body.get("assignees", []) if name not in {home.owner} | home.writers]
    if strangers:
        error = {"resource": "Issue", "field": "assignees", "code": "invalid", "value": strangers[0]}
        raise Refused(422, "Validation Failed", [error])
    if call.body.get("milestone") and call.body["milestone"] not in home.parts.milestones:
        raise Refused(422, "Validation Failed", [{"resource": "Issue", "field": "milestone", "code": "invalid"}])
    for name in ("title", "body", "state", "state_reason", "labels", "assignees", "milestone"):
        if name in call.body:
            setattr(one, name, call.body[name])
    one.updated = call.world.now()


def new_comment(call: Call) -> Reply:
    _, one = _issue(call)
    demand_filled(call, "IssueComment", "body")
    made = Comment(call.world.id(), call.token.login, call.body["body"], call.world.now())
    one.comments.append(made)
    return Reply(201, render_comment(call, made))


def _issue(call: Call) -> tuple[Repository, Issue]:
    home = call.repository()
    one = home.issues.get(int(call.values["issue_number"]))
    if one is None:
        raise Refused(404, "Not Found")
    return home, one


def pulls(call: Call) -> Reply:
    home, asked = call.repository(), call.query
    found = [
        one
        for one in home.issues.values()
        if one.pull
        and asked.get("state", "open") in (one.state, "all")
        and asked.get("base", one.pull.base) == one.pull.base
        and asked.get("head", f"{home.owner}:{one.pull.head}") == f"{home.owner}:{one.pull.head}"
    ]
    found.sort(key=lambda one: one.number, reverse=asked.get("direction", "desc") == "desc")
    return paged(call, found, lambda one: answers.pull(call, one, home, "pull-request-simple"))


def pull(call: Call) -> Reply:
    home, one, pull = find_pull(call)
    if call.headers.get("Accept") == git_data.DIFF:
        head, base = home.resolve(pull.head), home.resolve(pull.base)
        assert head is not None
        assert base is not None
        return git_data.diff_reply(base.tree, head.tree)
    return Reply(200, answers.pull(call, one, home))


def files(call: Call) -> Reply:
    home, _, pull = find_pull(call)
    head = home.resolve(pull.head)
    assert head is not None
    return paged(call, answers.changed_files(call, home.resolve(pull.base), head), lambda file: file)


def reviews(call: Call) -> Reply:
    _, _, pull = find_pull(call)
    return paged(call, pull.reviews, lambda one: answers.review(call, one))


def new_pull(call: Call) -> Reply:
    home = call.writable()
    issue = home.issues.get(call.body.get("issue", 0))
    if issue is None:
        demand_filled(call, "PullRequest", "title")
    head, base = call.body["head"].removeprefix(f"{home.owner}:"), call.body["base"]
    for name, field in ((head, "head"), (base, "base")):
        if name not in home.branches:
            raise Refused(422, "Validation Failed", [{"resource": "PullRequest", "field": field, "code": "invalid"}])
    if any(
        one.pull and one.state == "open" and (one.pull.head, one.pull.base) == (head, base)
        for one in home.issues.values()
    ):
        raise _custom(f"A pull request already exists for {home.owner}:{head}.")
    made = Pull(head, base, call.body.get("draft", False))
    if not answers.ahead(made, home):
        raise _custom(f"No commits between {base} and {head}")
    if issue is not None:
        issue.pull = made
        return Reply(201, answers.pull(call, issue, home))
    one = call.world.issue(home, call.body["title"], call.token.login, body=call.body.get("body"), pull=made)
    return Reply(201, answers.pull(call, one, home))


def _custom(message: str) -> Refused:
    return Refused(422, "Validation Failed", [{"resource": "PullRequest", "code": "custom", "message": message}])


def change_pull(call: Call) -> Reply:
    home, one, pull = find_pull(call)
    call.writable()
    if call.body.get("base", pull.base) not in home.branches:
        raise Refused(422, "Validation Failed", [{"resource": "PullRequest", "field": "base", "code": "invalid"}])
    for name in ("title", "body", "state"):
        if name in call.body:
            setattr(one, name, call.body[name])
    pull.base = call.body.get("base", pull.base)
    one.updated = call.world.now()
    return Reply(200, answers.pull(call, one, home))


def merge(call: Call) -> Reply:
    home, one, pull = find_pull(call)
    call.writable()
    head, base = home.resolve(pull.head), home.resolve(pull.base)
    assert head is not None
    assert base is not None
    if one.state != "open" or pull.draft or not answers.mergeable(pull, home):
        raise Refused(405, "Pull Request is not mergeable")
    if call.body.get("sha", head.sha) != head.sha:
        raise Refused(409, "Head branch was modified. Review and try the merge again.")
    changes = {path: head.tree.get(path) for path in head.tree.keys() | base.tree.keys() if _of_head(home, pull, path)}
    message = call.body.get("commit_title") or f"Merge pull request #{one.number}"
    parents = (base.sha, head.sha) if call.body.get("merge_method", "merge") == "merge" else (base.sha,)
    made = call.world.commit(home, changes, message, branch=pull.base, author=call.token.login, parents=parents)
    pull.merged, one.state = made.sha, "closed"
    return Reply(200, {"sha": made.sha, "merged": True, "message": "Pull Request successfully merged"})


def _of_head(home: Repository, pull: Pull, path: str) -> bool:
    """Whether a path was changed by the pull request's own commits."""
    for commit in answers.ahead(pull, home):
        before = home.commits[commit.parents[0]].tree if commit.parents else {}
        if before.get(path) != commit.tree.get(path):
            return True
    return False


def update_branch(call: Call) -> Reply:
    home, one, pull = find_pull(call)
    call.writable()
    head, base = home.resolve(pull.head), home.resolve(pull.base)
    assert head is not None
    assert base is not None
    if call.body.get("expected_head_sha", head.sha) != head.sha:
        raise Refused(422, "expected head sha didn\u2019t match current head ref.")
    if not answers.mergeable(pull, home):
        raise Refused(422, "merge conflict between base and head")
    if base in home.history(head):
        raise Refused(422, "There are no new commits on the base branch.")
    call.world.commit(home, base.tree, f"Merge {pull.base}", branch=pull.head, parents=(head.sha, base.sha))
    one.updated = call.world.now()
    return Reply(202, {"message": "Updating pull request branch.", "url": answers.HTML})


def new_review(call: Call) -> Reply:
    home, one, pull = find_pull(call)
    event, said = call.body.get("event", "PENDING"), call.body.get("body", "")
    if event in ("APPROVE", "REQUEST_CHANGES") and one.user == call.token.login:
        verb = "approve" if event == "APPROVE" else "request changes on"
        raise Refused(422, "Unprocessable Entity", [f"Review Can not {verb} your own pull request"])
    if event in ("COMMENT", "REQUEST_CHANGES") and not said and not call.body.get("comments"):
        raise Refused(422, "Unprocessable Entity", ["Review body can't be blank"])
    head = home.resolve(pull.head)
    assert head is not None
    if any(comment["path"] not in head.tree for comment in call.body.get("comments", [])):
        raise Refused(422, "Unprocessable Entity", ["Path could not be resolved"])
    state = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}.get(event, event)
    made = Review(
        call.world.id(), call.token.login, said, state, call.body.get("commit_id", head.sha), call.world.now()
    )
    add_line_comments(call, pull, call.body.get("comments", []))
    pull.reviews.append(made)
    return Reply(200, answers.review(call, made))


def _find_review(call: Call, pull: Pull) -> Review:
    found = next((one for one in pull.reviews if one.id == int(call.values["review_id"])), None)
    if found is None or (found.state == "PENDING" and found.user != call.token.login):
        raise Refused(404, "Not Found")
    return found


def change_review(call: Call) -> Reply:
    _, _, pull = find_pull(call)
    found = _find_review(call, pull)
    if found.user != call.token.login:
        raise Refused(403, "Must have admin rights to Repository.")
    found.body = call.body["body"]
    return Reply(200, answers.review(call, found))


def dismiss_review(call: Call) -> Reply:
    _, _, pull = find_pull(call)
    call.writable()
    found = _find_review(call, pull)
    if found.state not in ("APPROVED", "CHANGES_REQUESTED"):
        raise Refused(422, "Unprocessable Entity", ["Can not dismiss a commented pull request review"])
    found.state = "DISMISSED"
    return Reply(200, answers.review(call, found))


def delete_review(call: Call) -> Reply:
    _, _, pull = find_pull(call)
    found = _find_review(call, pull)
    if found.state != "PENDING":
        raise Refused(422, "Unprocessable Entity", ["Can not delete a non-pending pull request review"])
    pull.reviews.remove(found)
    return Reply(200, answers.review(call, found))


ROUTES = {
    ("get", "/repos/{owner}/{repo}/issues"): issues,
    ("post", "/repos/{owner}/{repo}/issues"): new_issue,
    ("get", ISSUE): issue,
    ("patch", ISSUE): change_issue,
    ("get", f"{ISSUE}/comments"): comments,
    ("post", f"{ISSUE}/comments"): new_comment,
    ("get", "/repos/{owner}/{repo}/pulls"): pulls,
    ("post", "/repos/{owner}/{repo}/pulls"): new_pull,
    ("get", PULL): pull,
    ("patch", PULL): change_pull,
    ("get", f"{PULL}/files"): files,
    ("get", f"{PULL}/reviews"): reviews,
    ("post", f"{PULL}/reviews"): new_review,
    ("put", f"{PULL}/reviews/{{review_id}}"): change_review,
    ("put", f"{PULL}/reviews/{{review_id}}/dismissals"): dismiss_review,
    ("delete", f"{PULL}/reviews/{{review_id}}"): delete_review,
    ("put", f"{PULL}/merge"): merge,
    ("put", f"{PULL}/update-branch"): update_branch,
}
