"""Is what left the gateway valid under the protocol's own JSON Schema, for the revision of the request?

Stricter than the schemas in one way: a result may hold no member that its revision does not name. (They allow more, but
a field of a later revision in an older one's answer is our mistake.)
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

SCHEMAS = Path(__file__).parents[3] / "shared" / "mcp-schema"

RESULTS = {
    "initialize": "InitializeResult",
    "ping": "EmptyResult",
    "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult",
    "server/discover": "DiscoverResult",
    "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/read": "ReadResourceResult",
    "prompts/list": "ListPromptsResult",
    "prompts/get": "GetPromptResult",
    "completion/complete": "CompleteResult",
    "tasks/get": "GetTaskResult",
    "tasks/list": "ListTasksResult",
    "tasks/result": "CallToolResult",
    "tasks/cancel": "CancelTaskResult",
    "tasks/update": "UpdateTaskResult",
    "subscriptions/listen": "SubscriptionsListenResult",
    "resources/subscribe": "EmptyResult",
    "resources/unsubscribe": "EmptyResult",
}
LISTED = {"tools": "Tool", "resources": "Resource", "resourceTemplates": "ResourceTemplate", "prompts": "Prompt"}
TASKS_EXTENSION = "ext-tasks.draft"
"""The schema of the tasks of 2026-07-28."""
NOTIFICATIONS = {
    "notifications/progress": "ProgressNotification",
    "notifications/message": "LoggingMessageNotification",
    "notifications/tasks/status": "TaskStatusNotification",
    "notifications/resources/updated": "ResourceUpdatedNotification",
    "notifications/resources/list_changed": "ResourceListChangedNotification",
    "notifications/prompts/list_changed": "PromptListChangedNotification",
    "notifications/tools/list_changed": "ToolListChangedNotification",
    "notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification",
}
SPECIAL_ERRORS = {
    -32042: "URLElicitationRequiredError",
    -32700: "ParseError",
    -32600: "InvalidRequestError",
    -32601: "MethodNotFoundError",
    -32602: "InvalidParamsError",
    -32603: "InternalError",
    -32020: "HeaderMismatchError",
    -32021: "MissingRequiredClientCapabilityError",
    -32022: "UnsupportedProtocolVersionError",
}
# Until 2025-06-18 the schemas want the request's id in every error, and JSON-RPC 2.0 §5 wants null where there is none.
NULL_ID = ("2024-11-05", "2025-03-26", "2025-06-18")
BATCHES = ("2024-11-05", "2025-03-26")


def check_message(revision: str, method: str, message: Any) -> None:
    """Fail unless `message`, an answer to `method` or a notification on the way to it, is valid in `revision`.

    Skips the test where the schemas are not at hand.
    """
    if isinstance(message, list):
        assert revision in BATCHES, f"{revision} has no batches"
        for one in message:
            check_message(revision, method, one)
        return
    assert isinstance(message, dict), f"not a JSON-RPC message: {message!r}"
    if "method" in message:
        assert "id" not in message, "a server sends no requests here"
        if message["method"] == "notifications/tasks":
            _validate(TASKS_EXTENSION, "TaskStatusNotification", message)
        else:
            _validate(revision, NOTIFICATIONS[message["method"]], message)
    elif "error" in message:
        _check_error(revision, message)
    else:
        _check_result(revision, method, message)


def available() -> bool:
    """Whether the schemas are there."""
    return SCHEMAS.is_dir()


def _check_error(revision: str, message: dict[str, Any]) -> None:
    if revision in NULL_ID and message.get("id", "") is None:
        message = {**message, "id": 0}
    definition = "JSONRPCErrorResponse" if "JSONRPCErrorResponse" in _definitions(revision) else "JSONRPCError"
    _validate(revision, definition, message)
    special = SPECIAL_ERRORS.get(message["error"]["code"], "")
    if special not in _definitions(revision):
        return
    # Some of these describe the whole message, some only its error member.
    whole = "error" in _definitions(revision)[special].get("properties", {})
    _validate(revision, special, message if whole else message["error"])


def _check_result(revision: str, method: str, message: dict[str, Any]) -> None:
    definition = "JSONRPCResultResponse" if "JSONRPCResultResponse" in _definitions(revision) else "JSONRPCResponse"
    _validate(revision, definition, message)
    result = message["result"]
    if method not in RESULTS:
        pytest.fail(f"no result is known for {method!r}; add it to RESULTS")
    kind = "InputRequiredResult" if result.get("resultType") == "input_required" else RESULTS[method]
    if "task" in result or result.get("resultType") == "task":
        kind = "CreateTaskResult"
    if revision == "2026-07-28" and "Task" in kind:
        _validate(revision, "Result", result)
        revision = TASKS_EXTENSION
        if "result" in result:
            _check_result("2026-07-28", "tools/call", {**message, "result": result["result"]})
    _validate(revision, kind, result)
    _only_known(revision, kind, result)
    for member, kind in LISTED.items():
        for one in result.get(member, []):
            _only_known(revision, kind, one)


def _only_known(revision: str, definition: str, value: dict[str, Any]) -> None:
    if not (known := _list_members(revision, _definitions(revision)[definition])):
        return
    unknown = value.keys() - known - {"_meta"}
    assert not unknown, f"{revision} {definition} has no member {sorted(unknown)}"


def _list_members(revision: str, schema: dict[str, Any]) -> set[str]:
    """The members that a schema names, itself or by parts of it."""
    if "$ref" in schema:
        return _list_members(revision, _definitions(revision)[schema["$ref"].rpartition("/")[2]])
    parts = (*schema.get("allOf", ()), *schema.get("anyOf", ()))
    return set(schema.get("properties", ())).union(*(_list_members(revision, part) for part in parts))


def _validate(revision: str, definition: str, value: Any) -> None:
    errors = [error.message for error in _validator(revision, definition).iter_errors(value)]
    assert not errors, f"not a {definition} of {revision}: {'; '.join(errors)}\n{json.dumps(value)[:2000]}"


@cache
def _schema(revision: str) -> dict[str, Any]:
    path = SCHEMAS / f"{revision}.schema.json"
    if not path.is_file():
        pytest.skip("the protocol's schemas are not beside the repository (../shared/mcp-schema)")
    return json.loads(path.read_text("utf-8"))


def _definitions(revision: str) -> dict[str, Any]:
    schema = _schema(revision)
    return schema.get("$defs") or schema["definitions"]


@cache
def _validator(revision: str, definition: str) -> Any:
    schema = _schema(revision)
    where = "$defs" if "$defs" in schema else "definitions"
    return jsonschema_rs.validator_for(
        {"$schema": schema["$schema"], where: schema[where], "$ref": f"#/{where}/{definition}"}
    )
