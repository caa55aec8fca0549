"""Operations that the shared description leaves out, as the document that it was taken from has them (its README names
it): methods, parameters, bodies and statuses; the schemas are those of the shared one."""

from typing import Any

Json = dict[str, Any]
ISSUE = "/rest/api/3/issue/{issueIdOrKey}"
_ESTIMATE = {"type": "string", "enum": ["new", "leave", "manual", "auto"]}
_FLAG = {"type": "boolean"}
_TEXT = {"type": "string"}


def _describe(path: tuple[str, ...], query: Json, schema: str, *, sends: bool = False) -> Json:
    """Describe an operation with a body of `schema` where it `sends` one; without `schema` it answers nothing."""
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    places = [{"in": "path", "name": name, "required": True, "schema": _TEXT} for name in path]
    parameters = [*places, *({"in": "query", "name": name, "schema": kind} for name, kind in query.items())]
    answers: Json = {"200": {"description": "", "content": content}} if schema else {"204": {"description": ""}}
    body = {"requestBody": {"content": content, "required": True}} if sends else {}
    refusals = {status: {"description": ""} for status in ("400", "401", "404")}
    security = [{"basicAuth": []}, {"OAuth2": ["write:jira-work" if sends or not schema else "read:jira-work"]}, {}]
    return {"parameters": parameters, "responses": {**answers, **refusals}, "security": security, **body}


_PART = ("issueIdOrKey", "id")
_CHANGES: Json = {"notifyUsers": _FLAG, "overrideEditableFlag": _FLAG}
_EXPAND: Json = {"expand": _TEXT}
_ESTIMATES: Json = {"adjustEstimate": _ESTIMATE, "newEstimate": _TEXT}
PATHS: Json = {
    f"{ISSUE}/comment/{{id}}": {
        "get": _describe(_PART, _EXPAND, "Comment"),
        "put": _describe(_PART, _CHANGES | _EXPAND, "Comment", sends=True),
        "delete": _describe(_PART, {}, ""),
    },
    f"{ISSUE}/worklog/{{id}}": {
        "get": _describe(_PART, _EXPAND, "Worklog"),
        "put": _describe(_PART, _CHANGES | _EXPAND | _ESTIMATES, "Worklog", sends=True),
        "delete": _describe(_PART, _CHANGES | _ESTIMATES | {"increaseBy": _TEXT}, ""),
    },
    "/rest/api/3/issueLink/{linkId}": {"delete": _describe(("linkId",), {}, "")},
}
