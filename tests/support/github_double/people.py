"""The caller's account, its notifications and events, and the searches."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from tests.support.github_double import answers
from tests.support.github_double.call import Call, Refused, Reply
from tests.support.github_double.paging import paged
from tests.support.github_double.world import Event, Issue, Notification, Repository, blob_sha

QUALIFIER = re.compile(r"(\w+):(\S+)")
MOST_RESULTS = 1000


def me(call: Call) -> Reply:
    known = {**answers.user(call.token.login), "name": call.token.login.title(), "user_view_type": "private"}
    return Reply(200, call.fill("private-user", known))


def events(call: Call) -> Reply:
    if call.values["username"] not in call.world.logins:
        raise Refused(404, "Not Found")
    seen = list(call.world.visible(call.token))
    found = [
        one for one in reversed(call.world.events) if one.actor == call.values["username"] and one.repository in seen
    ]
    return paged(call, found[:300], lambda one: _event(call, one))


def _event(call: Call, one: Event) -> Any:
    schema, payload = one.payload
    where = {"id": one.repository.id, "name": one.repository.full_name, "url": call.root}
    known = {"id": one.id, "type": one.type, "repo": where, "public": not one.repository.private, "created_at": one.at}
    return {**call.fill("event", {**known, "actor": {"login": one.actor}}), "payload": call.fill(schema, payload)}


def _check_notifications(call: Call) -> None:
    """Refuse fine-grained tokens, which have no permission for notifications, and others without the scope."""
    scopes = call.token.scopes
    if scopes is None or not scopes & {"notifications", "repo"}:
        headers = {} if scopes is None else {"X-Accepted-OAuth-Scopes": "notifications, repo"}
        raise Refused(403, "Missing the 'notifications' scope.", headers=headers)


def notifications(call: Call) -> Reply:
    _check_notifications(call)
    everything = call.query.get("all", "false") == "true"
    found = [
        one
        for one in call.world.notifications.get(call.token.login, [])
        if (everything or one.unread) and call.query.get("since", "") <= one.at <= call.query.get("before", "9")
    ]
    return paged(call, found, lambda one: _notification(call, one))


def _notification(call: Call, one: Notification) -> Any:
    where = one.repository
    url = f"{call.root}/repos/{where.full_name}/issues/{one.number}"
    known = {
        "id": one.id, "reason": one.reason, "unread": one.unread, "updated_at": one.at,
        "subject": {"title": one.title, "type": "Issue", "url": url},
        "repository": answers.repository(call, where, "minimal-repository"),
    }  # fmt: skip
    return call.fill("thread", known)


def read_notification(call: Call) -> Reply:
    _check_notifications(call)
    found = [one for one in call.world.notifications.get(call.token.login, []) if one.id == call.values["thread_id"]]
    if not found:
        raise Refused(404, "Not Found")
    found[0].unread = False
    return Reply(205, text="")


def search_issues(call: Call) -> Reply:
    asked = _qualifiers(call)
    kinds = asked.get("is", [])
    if not {"issue", "pr", "pull-request"} & set(kinds):
        raise Refused(422, "Query must include 'is:issue' or 'is:pull-request'")
    found = [
        (one, home) for home in _searched(call, asked) for one in home.issues.values() if _fits(call, one, asked, kinds)
    ]
    found.sort(key=lambda pair: pair[0].created, reverse=call.query.get("order", "desc") == "desc")
    return _results(
        call,
        found,
        lambda pair: answers.issue(call, pair[0], pair[1], "issue-search-result-item"),
        search_type="lexical",
    )


def _fits(call: Call, one: Issue, asked: dict[str, list[str]], kinds: Sequence[str]) -> bool:
    authors = [call.token.login if name == "@me" else name for name in asked.get("author", [])]
    states = [kind for kind in kinds if kind in ("open", "closed")]
    return (
        ("issue" in kinds or one.pull is not None)
        and (not authors or one.user in authors)
        and (not states or one.state in states)
        and all(word in f"{one.title} {one.body}".lower() for word in asked["words"])
    )


def search_code(call: Call) -> Reply:
    asked = _qualifiers(call)
    if not asked["words"]:
        raise Refused(422, "Validation Failed", [{"resource": "Search", "field": "q", "code": "missing"}])
    found = [
        (home, path, blob, line)
        for home in _searched(call, asked)
        if (tip := home.resolve(None))
        for path, blob in sorted(tip.tree.items())
        if isinstance(blob, bytes) and (line := _line_with(blob, asked["words"])) is not None
    ]
    return _results(call, found, lambda hit: _code(call, *hit))


def _line_with(blob: bytes, words: Sequence[str]) -> str | None:
    lines = blob.decode("utf-8", "replace").splitlines()
    return next((line for line in lines if all(word in line.lower() for word in words)), None)


def _code(call: Call, home: Repository, path: str, blob: bytes, line: str) -> Any:
    known = {"name": path.rsplit("/", 1)[-1], "path": path, "sha": blob_sha(blob)}
    where = answers.repository(call, home, "minimal-repository")
    matches = [{"fragment": line, "property": "content", "matches": []}]
    wanted = {"text_matches": matches} if "text-match" in call.headers.get("Accept", "") else {}
    return call.fill("code-search-result-item", {**known, "repository": where, **wanted})


def search_repositories(call: Call) -> Reply:
    asked = _qualifiers(call)
    found = [
        one
        for one in _searched(call, asked)
        if all(word in f"{one.name} {one.description}".lower() for word in asked["words"])
    ]
    return _results(call, found, lambda one: answers.repository(call, one, "repo-search-result-item"))


def _qualifiers(call: Call) -> dict[str, list[str]]:
    asked: dict[str, list[str]] = {"words": QUALIFIER.sub("", call.query["q"]).lower().split()}
    for name, value in QUALIFIER.findall(call.query["q"]):
        asked.setdefault(name, []).append(value)
    return asked


def _searched(call: Call, asked: dict[str, list[str]]) -> list[Repository]:
    seen = list(call.world.visible(call.token))
    named = [name.lower() for name in asked.get("repo", [])]
    if set(named) - {one.full_name.lower() for one in seen}:
        text = (
            "The listed users and repositories cannot be searched either because the resources do not exist or you do "
            "not have permission to view them."
        )
        raise Refused(
            422, "Validation Failed", [{"message": text, "resource": "Search", "field": "q", "code": "invalid"}]
        )
    return [one for one in seen if not named or one.full_name.lower() in named]


def _results(call: Call, found: Sequence[Any], render: Callable[[Any], Any], **more: Any) -> Reply:
    size, number = int(call.query.get("per_page", 30)), int(call.query.get("page", 1))
    if (number - 1) * size >= MOST_RESULTS:
        raise Refused(422, "Only the first 1000 search results are available")
    listed = paged(call, found[:MOST_RESULTS], render)
    return Reply(
        200, {"total_count": len(found), "incomplete_results": False, "items": listed.value, **more}, listed.headers
    )


ROUTES = {
    ("get", "/user"): me,
    ("get", "/users/{username}/events"): events,
    ("get", "/notifications"): notifications,
    ("patch", "/notifications/threads/{thread_id}"): read_notification,
    ("get", "/search/issues"): search_issues,
    ("get", "/search/code"): search_code,
    ("get", "/search/repositories"): search_repositories,
}
