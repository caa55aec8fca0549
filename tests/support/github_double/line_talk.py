"""Comments on the lines of pull requests, replies to them, and who is asked to review."""

from typing import Any

from tests.support.github_double import answers
from tests.support.github_double.call import Call, Refused, Reply, demand_filled
from tests.support.github_double.paging import paged
from tests.support.github_double.parts import LineComment
from tests.support.github_double.world import Issue, Pull, Repository

PULL = "/repos/{owner}/{repo}/pulls/{pull_number}"
COMMENT = "/repos/{owner}/{repo}/pulls/comments/{comment_id}"
MOST_REVIEWERS = 15


def line_comments(call: Call) -> Reply:
    _, _, pull = find_pull(call)
    return paged(call, pull.line_comments, lambda one: _line_comment(call, one))


def _line_comment(call: Call, one: LineComment) -> Any:
    known: dict[str, Any] = {
        "id": one.id, "user": answers.user(one.user), "path": one.path, "body": one.body, "created_at": one.at,
        "html_url": f"{answers.HTML}/r/{one.id}", "diff_hunk": one.hunk, "side": one.side,
        "original_line": one.line or 1,
    }  # fmt: skip
    if one.line:
        known["line"] = one.line
    if one.start_line:
        known["start_line"] = one.start_line
    if one.reply_to:
        known["in_reply_to_id"] = one.reply_to
    return call.fill("pull-request-review-comment", known)


def add_line_comments(call: Call, pull: Pull, comments: list[dict[str, Any]]) -> None:
    """Those of a new review, as https://docs.github.com/en/rest/pulls/comments describes their lines."""
    for given in comments:
        if ("start_line" in given) != ("start_side" in given) or given.get("start_line", 0) >= given["line"]:
            raise Refused(422, "Unprocessable Entity", ["start_line must precede the end line."])
    for given in comments:
        made = LineComment(
            call.world.id(), call.token.login, given["path"], given["line"], given["body"], call.world.now(),
            given.get("start_line"), given.get("side", "RIGHT"),
        )  # fmt: skip
        pull.line_comments.append(made)


def reply(call: Call) -> Reply:
    _, _, pull = find_pull(call)
    demand_filled(call, "PullRequestReviewComment", "body")
    number = int(call.values["comment_id"])
    first = next((one for one in pull.line_comments if one.id == number and one.reply_to is None), None)
    if first is None:
        raise Refused(404, "Not Found")
    made = LineComment(
        call.world.id(), call.token.login, first.path, first.line, call.body["body"], call.world.now(),
        reply_to=first.id,
    )  # fmt: skip
    pull.line_comments.append(made)
    return Reply(201, _line_comment(call, made))


def change_line_comment(call: Call) -> Reply:
    one, _ = _own_comment(call)
    demand_filled(call, "PullRequestReviewComment", "body")
    one.body = call.body["body"]
    return Reply(200, _line_comment(call, one))


def delete_line_comment(call: Call) -> Reply:
    one, pull = _own_comment(call)
    pull.line_comments.remove(one)
    return Reply(204, text="")


def _own_comment(call: Call) -> tuple[LineComment, Pull]:
    home, number = call.repository(), int(call.values["comment_id"])
    pulls = [one.pull for one in home.issues.values() if one.pull]
    found = next(((one, pull) for pull in pulls for one in pull.line_comments if one.id == number), None)
    if found is None:
        raise Refused(404, "Not Found")
    if found[0].user != call.token.login:
        call.writable("pull_requests=write")
    return found


def request_reviewers(call: Call) -> Reply:
    home, one, pull = _asked(call)
    people, teams = call.body.get("reviewers", []), call.body.get("team_reviewers", [])
    if one.user in people:
        raise Refused(422, "Review cannot be requested from pull request author.")
    if set(people) - {home.owner} - home.writers or set(teams) - {"core"}:
        text = "Reviews may only be requested from collaborators. One or more of the users or teams you specified is "
        raise Refused(422, f"{text}not a collaborator of the {home.full_name} repository.")
    pull.reviewers += [name for name in people if name not in pull.reviewers]
    pull.team_reviewers += [name for name in teams if name not in pull.team_reviewers]
    if len(pull.reviewers) > MOST_REVIEWERS:
        raise Refused(422, "Could not request reviews: at most 15 reviewers")
    return Reply(201, _with_reviewers(call, home, one, pull))


def drop_reviewers(call: Call) -> Reply:
    home, one, pull = _asked(call)
    pull.reviewers = [name for name in pull.reviewers if name not in call.body["reviewers"]]
    pull.team_reviewers = [name for name in pull.team_reviewers if name not in call.body.get("team_reviewers", [])]
    return Reply(200, _with_reviewers(call, home, one, pull))


def _asked(call: Call) -> tuple[Repository, Issue, Pull]:
    call.writable("pull_requests=write")
    return find_pull(call)


def _with_reviewers(call: Call, home: Repository, one: Issue, pull: Pull) -> Any:
    known = answers.pull(call, one, home, "pull-request-simple")
    people = [answers.user(login) for login in pull.reviewers]
    teams = [{"name": slug.title(), "slug": slug} for slug in pull.team_reviewers]
    return call.fill("pull-request-simple", {**known, "requested_reviewers": people, "requested_teams": teams})


def find_pull(call: Call) -> tuple[Repository, Issue, Pull]:
    """The pull request that the path names."""
    home = call.repository()
    one = home.issues.get(int(call.values["pull_number"]))
    if one is None or one.pull is None:
        raise Refused(404, "Not Found")
    return home, one, one.pull


ROUTES = {
    ("get", f"{PULL}/comments"): line_comments,
    ("post", f"{PULL}/comments/{{comment_id}}/replies"): reply,
    ("patch", COMMENT): change_line_comment,
    ("delete", COMMENT): delete_line_comment,
    ("post", f"{PULL}/requested_reviewers"): request_reviewers,
    ("delete", f"{PULL}/requested_reviewers"): drop_reviewers,
}
