"""Single comments on issues, labels, milestones and sub-issues."""

import re
from typing import Any

from tests.support.github_double import answers
from tests.support.github_double.call import Call, Refused, Reply, demand_filled
from tests.support.github_double.paging import paged
from tests.support.github_double.parts import Label, Milestone
from tests.support.github_double.world import Comment, Issue, Repository

REPO = "/repos/{owner}/{repo}"
ISSUE = f"{REPO}/issues/{{issue_number}}"
WRITES = "issues=write"


def comment(call: Call) -> Reply:
    return Reply(200, render_comment(call, _find_comment(call)[1]))


def change_comment(call: Call) -> Reply:
    one = _own_comment(call)[1]
    demand_filled(call, "IssueComment", "body")
    one.body = call.body["body"]
    return Reply(200, render_comment(call, one))


def delete_comment(call: Call) -> Reply:
    issue, one = _own_comment(call)
    issue.comments.remove(one)
    return Reply(204, text="")


def render_comment(call: Call, one: Comment) -> Any:
    """A comment as GitHub gives it."""
    known = {
        "id": one.id, "user": answers.user(one.user), "body": one.body, "created_at": one.at, "updated_at": one.at,
        "html_url": f"{answers.HTML}/comments/{one.id}",
    }  # fmt: skip
    return call.fill("issue-comment", known)


def _own_comment(call: Call) -> tuple[Issue, Comment]:
    found = _find_comment(call)
    if found[1].user != call.token.login:
        call.writable(WRITES)
    return found


def _find_comment(call: Call) -> tuple[Issue, Comment]:
    home, number = call.repository(), int(call.values["comment_id"])
    for issue in home.issues.values():
        for one in issue.comments:
            if one.id == number:
                return issue, one
    raise Refused(404, "Not Found")


def labels(call: Call) -> Reply:
    return paged(call, list(call.repository().parts.labels.values()), lambda one: _label(call, one))


def _label(call: Call, one: Label) -> Any:
    return call.fill("label", {"name": one.name, "color": one.color, "description": one.description})


def new_label(call: Call) -> Reply:
    home = call.writable(WRITES)
    demand_filled(call, "Label", "name")
    _check_label(call, home, call.body["name"])
    made = Label(call.body["name"], call.body.get("color", "ededed"), call.body.get("description"))
    home.parts.labels[made.name] = made
    return Reply(201, _label(call, made))


def change_label(call: Call) -> Reply:
    home, one = _find_label(call)
    name = call.body.get("new_name", one.name)
    if name != one.name:
        _check_label(call, home, name)
    _check_label(call, home, None)
    del home.parts.labels[one.name]
    for issue in home.issues.values():
        issue.labels = [name if given == one.name else given for given in issue.labels]
    one.name, one.color = name, call.body.get("color", one.color)
    one.description = call.body.get("description", one.description)
    home.parts.labels[name] = one
    return Reply(200, _label(call, one))


def delete_label(call: Call) -> Reply:
    home, one = _find_label(call)
    del home.parts.labels[one.name]
    for issue in home.issues.values():
        issue.labels = [given for given in issue.labels if given != one.name]
    return Reply(204, text="")


def _check_label(call: Call, home: Repository, name: str | None) -> None:
    if name in home.parts.labels:
        raise Refused(422, "Validation Failed", [{"resource": "Label", "code": "already_exists", "field": "name"}])
    if not re.fullmatch("[0-9a-fA-F]{6}", call.body.get("color", "ededed")):
        raise Refused(422, "Validation Failed", [{"resource": "Label", "code": "invalid", "field": "color"}])
    if len(call.body.get("description", "")) > 100:
        raise Refused(422, "Validation Failed", [{"resource": "Label", "code": "invalid", "field": "description"}])


def _find_label(call: Call) -> tuple[Repository, Label]:
    home = call.writable(WRITES)
    one = home.parts.labels.get(call.values["name"])
    if one is None:
        raise Refused(404, "Not Found")
    return home, one


def add_labels(call: Call) -> Reply:
    home, one = _find_issue(call)
    call.writable(WRITES)
    for name in call.body["labels"]:
        home.parts.labels.setdefault(name, Label(name))
        if name not in one.labels:
            one.labels.append(name)
    return _labels_of(call, home, one)


def remove_label(call: Call) -> Reply:
    home, one = _find_issue(call)
    call.writable(WRITES)
    if call.values["name"] not in one.labels:
        raise Refused(404, "Label does not exist")
    one.labels.remove(call.values["name"])
    return _labels_of(call, home, one)


def _labels_of(call: Call, home: Repository, one: Issue) -> Reply:
    return Reply(200, [_label(call, home.parts.labels.get(name, Label(name))) for name in one.labels])


def milestones(call: Call) -> Reply:
    home, state = call.repository(), call.query.get("state", "open")
    found = [one for one in home.parts.milestones.values() if state in (one.state, "all")]
    found.sort(key=lambda one: one.due_on or "9")
    return paged(call, found, lambda one: _milestone(call, home, one))


def _milestone(call: Call, home: Repository, one: Milestone) -> Any:
    states = [issue.state for issue in home.issues.values() if issue.milestone == one.number]
    known = {
        "number": one.number, "title": one.title, "state": one.state, "description": one.description,
        "due_on": one.due_on, "open_issues": states.count("open"), "closed_issues": states.count("closed"),
        "html_url": f"{answers.HTML}/{home.full_name}/milestone/{one.number}",
    }  # fmt: skip
    return call.fill("milestone", known)


def new_milestone(call: Call) -> Reply:
    home = call.writable(WRITES)
    demand_filled(call, "Milestone", "title")
    number = max(home.parts.milestones, default=0) + 1
    made = Milestone(number, call.body["title"])
    _change_milestone(call, home, made)
    home.parts.milestones[number] = made
    return Reply(201, _milestone(call, home, made))


def change_milestone(call: Call) -> Reply:
    home, one = _find_milestone(call)
    _change_milestone(call, home, one)
    return Reply(200, _milestone(call, home, one))


def _change_milestone(call: Call, home: Repository, one: Milestone) -> None:
    if any(other.title == call.body.get("title") and other is not one for other in home.parts.milestones.values()):
        raise Refused(422, "Validation Failed", [{"resource": "Milestone", "code": "already_exists", "field": "title"}])
    one.title, one.state = call.body.get("title", one.title), call.body.get("state", one.state)
    one.description = call.body.get("description", one.description)
    if "due_on" in call.body:
        one.due_on = f"{call.body['due_on'][:10]}T08:00:00Z"  # GitHub keeps the day in California


def delete_milestone(call: Call) -> Reply:
    home, one = _find_milestone(call)
    del home.parts.milestones[one.number]
    return Reply(204, text="")


def _find_milestone(call: Call) -> tuple[Repository, Milestone]:
    home = call.writable(WRITES)
    one = home.parts.milestones.get(int(call.values["milestone_number"]))
    if one is None:
        raise Refused(404, "Not Found")
    return home, one


def sub_issues(call: Call) -> Reply:
    _, parent = _find_issue(call)
    found = [_by_id(call, number) for number in parent.sub_issues]
    return paged(call, found, lambda pair: answers.issue(call, pair[1], pair[0]))


def add_sub_issue(call: Call) -> Reply:
    home, parent = _find_issue(call)
    call.writable(WRITES)
    where, part = _by_id(call, call.body["sub_issue_id"])
    if where.owner != home.owner or part is parent:
        raise Refused(422, "An error occurred while adding the sub-issue to the parent issue.")
    if part.id in parent.sub_issues:
        text = "Issue may not contain duplicate sub-issues and Sub issue may only have one parent"
        raise Refused(422, f"An error occurred while adding the sub-issue to the parent issue. {text}")
    if any(part.id in issue.sub_issues for other in _homes(call) for issue in other.issues.values()):
        text = "Sub issue may only have one parent"
        raise Refused(422, f"An error occurred while adding the sub-issue to the parent issue. {text}")
    parent.sub_issues.append(part.id)
    return Reply(201, answers.issue(call, parent, home))


def remove_sub_issue(call: Call) -> Reply:
    home, parent = _find_issue(call)
    call.writable(WRITES)
    if call.body["sub_issue_id"] not in parent.sub_issues:
        raise Refused(404, "The provided sub-issue does not exist")
    parent.sub_issues.remove(call.body["sub_issue_id"])
    return Reply(200, answers.issue(call, parent, home))


def _by_id(call: Call, number: int) -> tuple[Repository, Issue]:
    found = [(home, one) for home in _homes(call) for one in home.issues.values() if one.id == number]
    if not found:
        raise Refused(404, "The provided sub-issue does not exist")
    return found[0]


def _homes(call: Call) -> list[Repository]:
    return list(call.world.visible(call.token))


def _find_issue(call: Call) -> tuple[Repository, Issue]:
    home = call.repository()
    one = home.issues.get(int(call.values["issue_number"]))
    if one is None:
        raise Refused(404, "Not Found")
    return home, one


ROUTES = {
    ("get", f"{REPO}/issues/comments/{{comment_id}}"): comment,
    ("patch", f"{REPO}/issues/comments/{{comment_id}}"): change_comment,
    ("delete", f"{REPO}/issues/comments/{{comment_id}}"): delete_comment,
    ("get", f"{REPO}/labels"): labels,
    ("post", f"{REPO}/labels"): new_label,
    ("patch", f"{REPO}/labels/{{name}}"): change_label,
    ("delete", f"{REPO}/labels/{{name}}"): delete_label,
    ("post", f"{ISSUE}/labels"): add_labels,
    ("delete", f"{ISSUE}/labels/{{name}}"): remove_label,
    ("get", f"{REPO}/milestones"): milestones,
    ("post", f"{REPO}/milestones"): new_milestone,
    ("patch", f"{REPO}/milestones/{{milestone_number}}"): change_milestone,
    ("delete", f"{REPO}/milestones/{{milestone_number}}"): delete_milestone,
    ("get", f"{ISSUE}/sub_issues"): sub_issues,
    ("post", f"{ISSUE}/sub_issues"): add_sub_issue,
    ("delete", f"{ISSUE}/sub_issue"): remove_sub_issue,
}
