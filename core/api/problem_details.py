"""Problem documents (RFC 9457) for every error, with a stable `code` and no text of an exception or a database."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Any

import asyncpg
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from core.api.principal import REQUEST_ID, AuthenticationRequired, MissingCredentialScope
from core.api.security import get_security
from core.directory.versions import VersionConflict
from core.disk_errors import DiskFull
from core.errors import InvalidFields, LimitReached, MCPistError, NotFound, Unavailable

MEDIA_TYPE = "application/problem+json"
MAX_FIELD_PROBLEMS = 20
_CODES = {
    400: "invalid",
    404: "not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    413: "too_large",
}
_DETAILS = {
    404: "there is nothing at this address, or nothing for you",
    405: "this address does not know that method",
    408: "the body did not come in time",
    413: "the body is too large: 64 KiB are the most",
    400: "the body is no JSON",
}


class FieldProblem(BaseModel):
    """Error of one field of the request."""

    model_config = ConfigDict(extra="forbid")

    field: str = Field(description="Path of the field, such as `body.name`.")
    problem: str = Field(description="Explanation of the error.")


class ConflictDetails(BaseModel):
    """Present state of an object whose version is not the expected one."""

    model_config = ConfigDict(extra="forbid")

    etag: str = Field(description='Entity tag of the present version, such as `"v17"`.')
    changed_at: datetime | None = Field(description="Time of the latest change; null if unknown.")
    changed_by: str = Field(description="Name of the person who made the latest change; empty if unknown.")
    state: dict[str, Any] | None = Field(description="Object as it is now; null where it cannot be shown.")


class ProblemDetails(BaseModel):
    """Problem document (RFC 9457). `code` is stable and meant for programs, `detail` for people."""

    model_config = ConfigDict(extra="forbid")

    type: str = Field(description="URI of the problem type; always `about:blank`.")
    title: str = Field(description="Reason phrase of the HTTP status.")
    status: int = Field(description="HTTP status code.")
    code: str = Field(description="Stable error code, such as `not_found`.")
    detail: str = Field(description="Explanation for people.")
    request_id: str = Field(description="Identifier of the request, as in the log.")
    errors: list[FieldProblem] | None = Field(
        default=None, description="Errors of single fields; null if there are none."
    )
    current: ConflictDetails | None = Field(
        default=None, description="Present state of an object that somebody else has changed (412); null otherwise."
    )


def build_problem_response(
    status: int,
    code: str,
    detail: str,
    request_id: str,
    *,
    errors: Sequence[Mapping[str, str]] = (),
    current: ConflictDetails | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Build the answer that says what went wrong."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": detail,
        "request_id": request_id,
    }
    if errors:
        body["errors"] = errors
    if current is not None:
        body["current"] = current.model_dump(mode="json")
    return JSONResponse(body, status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def install_error_handlers(app: FastAPI) -> None:
    """Let `app` answer its errors this way."""
    app.add_exception_handler(MCPistError, _handle_expected_error)
    app.add_exception_handler(RequestValidationError, _handle_validation_error)
    app.add_exception_handler(HTTPException, _handle_http_exception)
    app.add_exception_handler(asyncpg.DiskFullError, _handle_disk_full)
    app.add_exception_handler(Exception, _handle_unexpected_error)


async def _handle_expected_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, MCPistError)
    headers: dict[str, str] = {}
    if isinstance(error, AuthenticationRequired):
        headers["WWW-Authenticate"] = get_security(request).challenge
    if isinstance(error, MissingCredentialScope):
        headers["WWW-Authenticate"] = (
            f'{get_security(request).challenge}, error="insufficient_scope", scope="{error.scope}"'
        )
    if isinstance(error, LimitReached | Unavailable):
        headers["Retry-After"] = str(max(1, -int(-error.retry_after // 1)))
    fields = error.problems.items() if isinstance(error, InvalidFields) else ()
    errors = [{"field": name, "problem": problem[:300]} for name, problem in fields][:MAX_FIELD_PROBLEMS]
    return build_problem_response(
        error.status,
        error.code,
        _get_safe_detail(error),
        _get_request_id(request),
        current=_build_conflict(error) if isinstance(error, VersionConflict) else None,
        errors=errors,
        headers=headers,
    )


def _build_conflict(error: VersionConflict) -> ConflictDetails:
    current = error.current
    return ConflictDetails(
        etag=f'"v{current.version}"',
        changed_at=current.changed_at,
        changed_by=current.changed_by,
        state=error.state,
    )


def _get_safe_detail(error: MCPistError) -> str:
    """Return the text of an error; that of a missing resource neither repeats the id nor tells whether others have
    it."""
    return _DETAILS[404] if isinstance(error, NotFound) else str(error)


async def _handle_validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    field_errors = [_describe_field_error(field_error) for field_error in list(error.errors())[:MAX_FIELD_PROBLEMS]]
    return build_problem_response(
        400, "invalid", "the request is not what this address expects", _get_request_id(request), errors=field_errors
    )


async def _handle_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = error.status_code
    code, detail = _CODES.get(status, "refused"), _DETAILS.get(status, "the request was refused")
    return build_problem_response(status, code, detail, _get_request_id(request), headers=error.headers)


async def _handle_disk_full(request: Request, error: Exception) -> Response:
    return await _handle_expected_error(request, DiskFull())


async def _handle_unexpected_error(request: Request, error: Exception) -> Response:
    return build_problem_response(
        500, "internal", "something went wrong here; it was logged under this id", _get_request_id(request)
    )


def _describe_field_error(error: Mapping[str, Any]) -> dict[str, str]:
    """Return the field and its problem without the input, which may be a secret; an unknown field's name is input
    too."""
    field = ".".join(str(part)[:60] for part in error["loc"])
    if error["type"] == "extra_forbidden":
        return {"field": field[:200], "problem": "there is no such field"}
    if error["type"] == "json_invalid":
        return {"field": "body", "problem": "this is no JSON"}
    return {"field": field[:200], "problem": str(error["msg"])[:300]}


def _get_request_id(request: Request) -> str:
    return request.scope.get(REQUEST_ID, "")
