"""Operations of Jira's REST API v3 that the description beside the repository leaves out, as facts in our own words.

Names, types and statuses are those of Atlassian's reference (https://developer.atlassian.com/cloud/jira/platform/rest/v3/,
groups "Issue comments", "Issue worklogs" and "Issue links").
"""

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]

READ, WRITE = "read:jira-work", "write:jira-work"
_TEXT, _FLAG = {"type": "string"}, {"type": "boolean"}
_FLAGS = {"notifyUsers": _FLAG, "overrideEditableFlag": _FLAG}
_ESTIMATE = {
    "adjustEstimate": {"type": "string", "enum": ["new", "leave", "manual", "auto"]},
    "newEstimate": _TEXT,
}
_EXPAND = {"expand": _TEXT}
_PART = ("issueIdOrKey", "id")


def _describe(
    path: tuple[str, ...],
    scope: str,
    status: int,
    query: Mapping[str, Json] | None = None,
    *,
    answer: str = "",
    body: str = "",
) -> Json:
    """Describe an operation; `answer` and `body` are schemas of the description."""
    places = [{"in": "path", "name": name, "required": True, "schema": _TEXT} for name in path]
    queries = [{"in": "query", "name": name, "schema": schema} for name, schema in (query or {}).items()]
    return {
        "parameters": [*places, *queries],
        "security": [{"basicAuth": []}, {"OAuth2": [scope]}, {}],
        "responses": {
            str(status): {"description": "Done.", **_describe_content(answer)},
            **{refused: {"description": "Refused."} for refused in ("400", "401", "404")},
        },
        **({"requestBody": {"required": True, **_describe_content(body)}} if body else {}),
    }


def _describe_content(schema: str) -> Json:
    return {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}} if schema else {}


MORE_OPERATIONS: Mapping[str, Json] = {
    "/rest/api/3/issue/{issueIdOrKey}/comment/{id}": {
        "get": _describe(_PART, READ, 200, _EXPAND, answer="Comment"),
        "put": _describe(_PART, WRITE, 200, {**_FLAGS, **_EXPAND}, answer="Comment", body="Comment"),
        "delete": _describe(_PART, WRITE, 204),
    },
    "/rest/api/3/issue/{issueIdOrKey}/worklog/{id}": {
        "get": _describe(_PART, READ, 200, _EXPAND, answer="Worklog"),
        "put": _describe(_PART, WRITE, 200, {**_FLAGS, **_ESTIMATE, **_EXPAND}, answer="Worklog", body="Worklog"),
        "delete": _describe(_PART, WRITE, 204, {**_FLAGS, **_ESTIMATE, "increaseBy": _TEXT}),
    },
    "/rest/api/3/issueLink/{linkId}": {"delete": _describe(("linkId",), WRITE, 204)},
}
