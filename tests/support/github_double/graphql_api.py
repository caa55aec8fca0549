"""GitHub's GraphQL API: threads of comments on lines, and drafts."""

from typing import Any

from graphql import GraphQLError, GraphQLResolveInfo, graphql_sync, validate
from graphql import parse as parse_document

from tests.support.github_double.call import Reply
from tests.support.github_double.parts import LineComment
from tests.support.github_double.world import Issue, Repository, Token, World
from tests.support.github_graphql import github_graphql_schema

PARTS = (
    ("Query", ("repository",)),
    (
        "Mutation",
        (
            "resolveReviewThread", "unresolveReviewThread", "convertPullRequestToDraft",
            "markPullRequestReadyForReview",
        ),
    ),
    ("Repository", ("pullRequest",)),
    ("PullRequest", ("id", "number", "isDraft", "reviewThreads")),
    ("PullRequestReviewThreadConnection", ("nodes", "pageInfo", "totalCount")),
    ("PageInfo", ("endCursor", "hasNextPage")),
    (
        "PullRequestReviewThread",
        (
            "id", "isResolved", "isOutdated", "path", "line", "startLine", "diffSide", "resolvedBy", "comments",
            "viewerCanResolve",
        ),
    ),
    ("PullRequestReviewCommentConnection", ("nodes", "totalCount")),
    ("PullRequestReviewComment", ("fullDatabaseId", "databaseId", "author", "createdAt", "body")),
    ("Actor", ("login",)),
    ("User", ("login",)),
    ("ResolveReviewThreadPayload", ("thread",)),
    ("UnresolveReviewThreadPayload", ("thread",)),
    ("ConvertPullRequestToDraftPayload", ("pullRequest",)),
    ("MarkPullRequestReadyForReviewPayload", ("pullRequest",)),
)  # fmt: skip
MOST_NODES = 100


def find_wrong(body: dict[str, Any]) -> str:
    """What is wrong with a document by the schema; "" for nothing."""
    if unknown := body.keys() - {"query", "variables", "operationName"}:
        return f"unknown fields {sorted(unknown)}"
    try:
        wrong = validate(github_graphql_schema(PARTS), parse_document(body["query"]))
    except GraphQLError as error:
        return error.message
    return wrong[0].message if wrong else ""


def answer_document(world: World, token: Token, body: dict[str, Any]) -> tuple[Reply, str]:
    """Answer a document that is as the schema says; and what is wrong with its variables, or with the answer."""
    schema = github_graphql_schema(PARTS)
    if token.scopes is not None and "repo" not in token.scopes:
        text = "Your token has not been granted the required scopes to execute this query."
        return Reply(200, {"errors": [{"type": "INSUFFICIENT_SCOPES", "message": text}]}), ""
    found = graphql_sync(schema, body["query"], _Root(world, token), variable_values=body.get("variables"))
    errors = [
        {"type": one.extensions["type"], "path": one.path, "message": one.message}
        for one in found.errors or []
        if one.extensions
    ]
    unforeseen = next((one.message for one in found.errors or [] if not one.extensions), "")
    return Reply(200, {"data": found.data, **({"errors": errors} if errors else {})}), unforeseen


def _refuse(kind: str, message: str) -> GraphQLError:
    return GraphQLError(message, extensions={"type": kind})


class _Root:
    """What queries and mutations begin with."""

    def __init__(self, world: World, token: Token) -> None:
        self._world, self._token = world, token

    def _homes(self) -> list[Repository]:
        return list(self._world.visible(self._token))

    def repository(self, info: GraphQLResolveInfo, owner: str, name: str, **_: Any) -> Any:
        home = next((one for one in self._homes() if one.full_name == f"{owner}/{name}"), None)
        if home is None:
            raise _refuse("NOT_FOUND", f"Could not resolve to a Repository with the name '{owner}/{name}'.")
        return {"pullRequest": lambda info, number: _pull(home, number)}

    def resolveReviewThread(self, info: GraphQLResolveInfo, input: dict[str, Any]) -> Any:  # noqa: N802
        return self._set_resolved(input["threadId"], self._token.login)

    def unresolveReviewThread(self, info: GraphQLResolveInfo, input: dict[str, Any]) -> Any:  # noqa: N802
        return self._set_resolved(input["threadId"], None)

    def _set_resolved(self, identity: str, login: str | None) -> Any:
        for home in self._homes():
            for issue in home.issues.values():
                for one in issue.pull.line_comments if issue.pull else []:
                    if f"PRRT_{one.id}" == identity:
                        self._demand_writer(home, issue)
                        one.resolved_by = login
                        assert issue.pull is not None
                        return {"thread": _thread(one, issue.pull.line_comments)}
        raise _refuse("NOT_FOUND", f"Could not resolve to a node with the global id of '{identity}'")

    def convertPullRequestToDraft(self, info: GraphQLResolveInfo, input: dict[str, Any]) -> Any:  # noqa: N802
        return self._set_draft(input["pullRequestId"], draft=True)

    def markPullRequestReadyForReview(self, info: GraphQLResolveInfo, input: dict[str, Any]) -> Any:  # noqa: N802
        return self._set_draft(input["pullRequestId"], draft=False)

    def _set_draft(self, identity: str, *, draft: bool) -> Any:
        for home in self._homes():
            for issue in home.issues.values():
                if issue.pull and f"PR_{issue.id}" == identity:
                    self._demand_writer(home, issue)
                    if draft and not home.has_drafts:
                        raise _refuse("UNPROCESSABLE", "Draft pull requests are not supported in this repository.")
                    issue.pull.draft = draft
                    return {"pullRequest": _pull(home, issue.number)}
        raise _refuse("NOT_FOUND", f"Could not resolve to a node with the global id of '{identity}'")

    def _demand_writer(self, home: Repository, issue: Issue) -> None:
        may = self._token.login in {home.owner, issue.user} | home.writers
        if not may or (self._token.scopes is None and not self._token.writes):
            raise _refuse("FORBIDDEN", f"{self._token.login} does not have the correct permissions to execute this.")


def _pull(home: Repository, number: int) -> Any:
    issue = home.issues.get(number)
    if issue is None or issue.pull is None:
        raise _refuse("NOT_FOUND", f"Could not resolve to a PullRequest with the number of {number}.")
    pull = issue.pull
    threads = [one for one in pull.line_comments if one.reply_to is None]

    def list_threads(info: GraphQLResolveInfo, first: int, after: str | None = None, **_: Any) -> Any:
        return _connect([_thread(one, pull.line_comments) for one in threads], first, after)

    return {"id": f"PR_{issue.id}", "number": number, "isDraft": pull.draft, "reviewThreads": list_threads}


def _thread(one: LineComment, every: list[LineComment]) -> Any:
    said = [one, *(other for other in every if other.reply_to == one.id)]
    return {
        "id": f"PRRT_{one.id}", "isResolved": one.resolved_by is not None, "isOutdated": one.line is None,
        "path": one.path, "line": one.line, "startLine": one.start_line, "diffSide": one.side,
        "resolvedBy": one.resolved_by and {"login": one.resolved_by},
        "comments": lambda info, first, **_: _connect([_comment(other) for other in said], first, None),
    }  # fmt: skip


def _comment(one: LineComment) -> Any:
    author = one.user and {"__typename": "User", "login": one.user}
    return {"fullDatabaseId": str(one.id), "author": author, "createdAt": one.at, "body": one.body}


def _connect(nodes: list[Any], first: int, after: str | None) -> Any:
    if not 1 <= first <= MOST_NODES:
        raise _refuse("EXCESSIVE_PAGINATION", f"Requesting {first} records exceeds the `first` limit of 100 records.")
    start = int(after or 0)
    shown = nodes[start : start + first]
    page = {"hasNextPage": start + first < len(nodes), "endCursor": str(start + len(shown)) if shown else None}
    return {"totalCount": len(nodes), "nodes": shown, "pageInfo": page}
