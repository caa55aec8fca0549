"""Operations beside those of ``more_operations.json``, as the document has them that the shared description was cut
from (its README names it): methods, parameters and statuses; the schemas are those of the shared one."""

from typing import Any

Json = dict[str, Any]
PART = "/rest/api/3/issue/{issueIdOrKey}"
_REFUSALS = {status: {"description": ""} for status in ("400", "401", "404")}


def _describe(path: tuple[str, ...], scope: str, answer: Json, *query: str) -> Json:
    places = [{"in": "path", "name": name, "required": True, "schema": {"type": "string"}} for name in path]
    queries = [{"in": "query", "name": name, "schema": {"type": "string"}} for name in query]
    security = [{"basicAuth": []}, {"OAuth2": [scope]}, {}]
    return {"parameters": [*places, *queries], "responses": {**answer, **_REFUSALS}, "security": security}


def _describe_reading(schema: str) -> Json:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    answer = {"200": {"description": "", "content": content}}
    return _describe(("issueIdOrKey", "id"), "read:jira-work", answer, "expand")


PATHS: Json = {
    f"{PART}/comment/{{id}}": {"get": _describe_reading("Comment")},
    f"{PART}/worklog/{{id}}": {"get": _describe_reading("Worklog")},
    "/rest/api/3/issueLink/{linkId}": {
        "delete": _describe(("linkId",), "write:jira-work", {"204": {"description": ""}}),
    },
}
