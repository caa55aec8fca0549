"""Operations of Jira's REST API v3 that the description beside the repository leaves out, as facts in our own words.

Names, types and statuses are those of Atlassian's reference (https://developer.atlassian.com/cloud/jira/platform/rest/v3/,
groups "Issue comments", "Issue worklogs" and "Issue links").
"""

from typing import Any

Json = dict[str, Any]

_FLAGS = {"notifyUsers": {"type": "boolean"}, "overrideEditableFlag": {"type": "boolean"}}
_ESTIMATE = {
    "adjustEstimate": {"type": "string", "enum": ["new", "leave", "manual", "auto"]},
    "newEstimate": {"type": "string"},
}
_TEXT = {"type": "string"}
_PART = ("issueIdOrKey", "id")


def _describe(
    query: Json, statuses: tuple[int, ...], schema: str = "", *, path: tuple[str, ...] = _PART, reads: bool = False
) -> Json:
    """Describe an operation; `schema` is that of its first answer and, unless it `reads`, of its body."""
    content = {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}}
    first, *errors = statuses
    answers: Json = {str(first): {"description": "Done.", **(content if schema else {})}}
    places = [{"in": "path", "name": name, "required": True, "schema": _TEXT} for name in path]
    return {
        "parameters": [*places, *({"in": "query", "name": name, "schema": one} for name, one in query.items())],
        "security": [{"basicAuth": []}, {"OAuth2": ["read:jira-work" if reads else "write:jira-work"]}, {}],
        "responses": answers | {str(status): {"description": "Refused."} for status in errors},
        **({"requestBody": {"required": True, **content}} if schema and not reads else {}),
    }


MORE_OPERATIONS: Json = {
    "/rest/api/3/issue/{issueIdOrKey}/comment/{id}": {
        "get": _describe({"expand": _TEXT}, (200, 401, 404), "Comment", reads=True),
        "put": _describe({**_FLAGS, "expand": _TEXT}, (200, 400, 401, 404), "Comment"),
        "delete": _describe({}, (204, 400, 401, 404, 405)),
    },
    "/rest/api/3/issue/{issueIdOrKey}/worklog/{id}": {
        "get": _describe({"expand": _TEXT}, (200, 401, 404), "Worklog", reads=True),
        "put": _describe({**_FLAGS, **_ESTIMATE, "expand": _TEXT}, (200, 400, 401, 404), "Worklog"),
        "delete": _describe({**_FLAGS, **_ESTIMATE, "increaseBy": _TEXT}, (204, 400, 401, 404)),
    },
    "/rest/api/3/issueLink/{linkId}": {"delete": _describe({}, (204, 400, 401, 404), path=("linkId",))},
}
