"""Operations of Jira's REST API v3 that the description beside the repository leaves out, as facts in our own words.

Names, types and statuses are those of Atlassian's reference (https://developer.atlassian.com/cloud/jira/platform/rest/v3/,
groups "Issue comments" and "Issue worklogs").
"""

from typing import Any

Json = dict[str, Any]

_ID = [{"in": "path", "name": name, "required": True, "schema": {"type": "string"}} for name in ("issueIdOrKey", "id")]
_FLAGS = {"notifyUsers": {"type": "boolean"}, "overrideEditableFlag": {"type": "boolean"}}
_ESTIMATE = {
    "adjustEstimate": {"type": "string", "enum": ["new", "leave", "manual", "auto"]},
    "newEstimate": {"type": "string"},
}
_TEXT = {"type": "string"}


def _describe(query: Json, statuses: tuple[int, ...], schema: str = "") -> Json:
    """Describe an operation; `schema` is that of its body and of its first answer."""
    content = {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}}
    first, *errors = statuses
    answers: Json = {str(first): {"description": "Done.", **(content if schema else {})}}
    return {
        "parameters": [*_ID, *({"in": "query", "name": name, "schema": one} for name, one in query.items())],
        "security": [{"basicAuth": []}, {"OAuth2": ["write:jira-work"]}, {}],
        "responses": answers | {str(status): {"description": "Refused."} for status in errors},
        **({"requestBody": {"required": True, **content}} if schema else {}),
    }


MORE_OPERATIONS: Json = {
    "/rest/api/3/issue/{issueIdOrKey}/comment/{id}": {
        "put": _describe({**_FLAGS, "expand": _TEXT}, (200, 400, 401, 404), "Comment"),
        "delete": _describe({}, (204, 400, 401, 404, 405)),
    },
    "/rest/api/3/issue/{issueIdOrKey}/worklog/{id}": {
        "put": _describe({**_FLAGS, **_ESTIMATE, "expand": _TEXT}, (200, 400, 401, 404), "Worklog"),
        "delete": _describe({**_FLAGS, **_ESTIMATE, "increaseBy": _TEXT}, (204, 400, 401, 404)),
    },
}
