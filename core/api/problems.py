"""Every error as a problem document (RFC 9457) with a stable `code`; no text of an exception or of a database."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import asyncpg
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from core.api.door import door_of
from core.api.principal import InsufficientScope, Unauthenticated
from core.errors import LimitReached, MCPistError, NotFound, Unavailable
from core.storage import DiskFull

MEDIA_TYPE = "application/problem+json"
MOST_PROBLEMS = 20
_CODES = {
    400: "invalid",
    404: "not_found",
    405: "method_not_allowed",
    408: "too_slow",
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
    """What is wrong with one field."""

    model_config = ConfigDict(extra="forbid")

    field: str
    problem: str


class Problem(BaseModel):
    """An error. `code` is stable and meant for programs, `detail` for people."""

    model_config = ConfigDict(extra="forbid")

    type: str
    title: str
    status: int
    code: str
    detail: str
    request_id: str
    errors: list[FieldProblem] | None = None


def problem(
    status: int,
    code: str,
    detail: str,
    request_id: str,
    *,
    errors: Sequence[Mapping[str, str]] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The answer that says what went wrong."""
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
    return JSONResponse(body, status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def answer_problems(app: FastAPI) -> None:
    """Let `app` answer its errors this way."""
    app.add_exception_handler(MCPistError, _expected)
    app.add_exception_handler(RequestValidationError, _wrong_input)
    app.add_exception_handler(HTTPException, _of_the_framework)
    app.add_exception_handler(asyncpg.DiskFullError, _disk_full)
    app.add_exception_handler(Exception, _fault)


async def _expected(request: Request, error: Exception) -> Response:
    assert isinstance(error, MCPistError)
    headers: dict[str, str] = {}
    if isinstance(error, Unauthenticated):
        headers["WWW-Authenticate"] = door_of(request).challenge
    if isinstance(error, InsufficientScope):
        headers["WWW-Authenticate"] = f'{door_of(request).challenge}, error="insufficient_scope", scope="{error.scope}"'
    if isinstance(error, LimitReached | Unavailable):
        headers["Retry-After"] = str(max(1, -int(-error.retry_after // 1)))
    return problem(error.status, error.code, _text(error), _id(request), headers=headers)


def _text(error: MCPistError) -> str:
    """What exists for others and what does not exist at all are told apart by no letter, nor is the id repeated."""
    return _DETAILS[404] if isinstance(error, NotFound) else str(error)


async def _wrong_input(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    told = [_told(one) for one in list(error.errors())[:MOST_PROBLEMS]]
    return problem(400, "invalid", "the request is not what this address expects", _id(request), errors=told)


async def _of_the_framework(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = error.status_code
    code, detail = _CODES.get(status, "refused"), _DETAILS.get(status, "the request was refused")
    return problem(status, code, detail, _id(request), headers=error.headers)


async def _disk_full(request: Request, error: Exception) -> Response:
    return await _expected(request, DiskFull())


async def _fault(request: Request, error: Exception) -> Response:
    return problem(500, "internal", "something went wrong here; it was logged under this id", _id(request))


def _told(error: Mapping[str, Any]) -> dict[str, str]:
    """Where and what, without the input: it may be a secret in the wrong place. A made-up field's name is input too."""
    place = ".".join(str(part)[:60] for part in error["loc"])
    if error["type"] == "extra_forbidden":
        return {"field": place[:200], "problem": "there is no such field"}
    if error["type"] == "json_invalid":
        return {"field": "body", "problem": "this is no JSON"}
    return {"field": place[:200], "problem": str(error["msg"])[:300]}


def _id(request: Request) -> str:
    return request.scope.get("mcpist.request_id", "")
