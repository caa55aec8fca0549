"""Errors are problem documents; nothing of an exception shows; every request has its limits."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from core.api.middleware import MAX_BODY_BYTES
from core.concurrency.rate_limits import CallerLimits
from core.errors import Unavailable
from tests.admin_ui.admin_app import ACTOR, COOKIE, AdminApp, Tenant

FIELDS = {"type", "title", "status", "code", "detail", "request_id"}


async def test_every_kind_of_problem_is_a_document_with_a_stable_code(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin, app.browser(acme.user) as user, app.caller() as nobody:
        answers = {
            "unauthenticated": await nobody.get("/users"),
            "forbidden": await user.get("/users"),
            "not_found": await admin.get("/users/7d0f9f0e-0000-4000-8000-000000000000"),
            "method_not_allowed": await admin.put("/users"),
            "conflict": await admin.delete(f"/users/{acme.admin.id}"),
            "invalid": await admin.post("/users", json={"email": "no address"}),
            "too_large": await admin.post("/users", content=b" " * (MAX_BODY_BYTES + 1)),
        }
    for code, answer in answers.items():
        assert answer.headers["content-type"] == "application/problem+json", code
        assert answer.headers["cache-control"] == "no-store"
        body = answer.json()
        assert set(body) - {"errors"} == FIELDS
        assert (body["code"], body["status"]) == (code, answer.status_code)
        assert body["request_id"] == answer.headers["x-request-id"]
    assert answers["unauthenticated"].headers["www-authenticate"].startswith("Bearer ")
    assert answers["method_not_allowed"].headers["allow"]


async def test_a_path_that_does_not_exist_answers_like_an_id_that_does_not(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin:
        path, missing = await admin.get("/made-up"), await admin.get("/roles/7d0f9f0e-0000-4000-8000-000000000000")
    assert path.json() | {"request_id": ""} == missing.json() | {"request_id": ""}


async def test_a_full_disk_is_told_as_that(app: AdminApp, acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*_: object, **__: object) -> None:
        raise asyncpg.DiskFullError("could not extend file base/5/17675")

    monkeypatch.setattr("core.directory.users.create_user", full)
    async with app.browser(acme.admin) as admin:
        answer = await admin.post("/users", json={"email": "bob@acme.example"})
    assert (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (503, "unavailable", "30")
    assert "database's disk is full" in answer.json()["detail"]
    assert "base/5" not in answer.text


async def test_too_little_scope_says_what_is_missing(app: AdminApp, acme: Tenant) -> None:
    _, reading = await app.parts.tokens.create(ACTOR, acme.id, acme.admin.id, "reading", scopes=["admin:read"])
    async with app.script(reading) as script:
        assert (await script.get("/users")).status_code == 200
        refused = await script.post("/users", json={"email": "x@acme.example"})
        own = await script.get("/sessions")
    assert (refused.status_code, refused.json()["code"]) == (403, "insufficient_scope")
    assert 'error="insufficient_scope", scope="admin:write"' in refused.headers["www-authenticate"]
    assert own.status_code == 200


async def test_a_read_only_token_changes_nothing(app: AdminApp, acme: Tenant) -> None:
    scopes = ["admin:write", "mcp:write"]
    _, token = await app.parts.tokens.create(ACTOR, acme.id, acme.admin.id, "eyes", scopes=scopes, read_only=True)
    async with app.script(token) as script:
        assert (await script.get("/users")).status_code == 200
        assert (await script.post("/users", json={"email": "x@acme.example"})).json()["code"] == "insufficient_scope"
        assert (await script.delete(f"/tokens/{acme.user.token_id}")).json()["code"] == "insufficient_scope"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"email": "x@acme.example", "tenant_id": "1"}, "body.tenant_id"),
        ({"email": "x@acme.example", "name": "a\x00b"}, "body.name"),
        ({"email": "x@acme.example", "name": "n" * 201}, "body.name"),
        ({"email": "x@acme.example", "system_role": "root"}, "body.system_role"),
        ({"email": 7}, "body.email"),
        ({}, "body.email"),
        ([], "body"),
    ],
)
async def test_wrong_input_names_the_field_and_repeats_nothing(
    app: AdminApp, acme: Tenant, body: Any, field: str
) -> None:
    async with app.browser(acme.admin) as admin:
        answer = await admin.post("/users", json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert answer.json()["errors"][0]["field"] == field
    assert "root" not in answer.text


async def test_half_a_character_is_none(app: AdminApp, acme: Tenant) -> None:
    raw, headers = rb'{"email": "x@acme.example", "name": "\ud800"}', {"Content-Type": "application/json"}
    async with app.browser(acme.admin) as admin:
        answer = await admin.post("/users", content=raw, headers=headers)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "body.name")


@pytest.mark.parametrize("raw", [b"{", b"[" * 60_000, b"1" * 60_000, b"\xff\xfe", b'{"email": NaN}'])
async def test_what_is_no_json_is_refused(app: AdminApp, acme: Tenant, raw: bytes) -> None:
    async with app.browser(acme.admin) as admin:
        answer = await admin.post("/users", content=raw, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", None])
async def test_only_json_is_taken_for_json(app: AdminApp, acme: Tenant, content_type: str | None) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}
    async with app.browser(acme.admin) as admin:
        answer = await admin.post("/users", content=b'{"email": "x@acme.example"}', headers=headers)
    assert answer.status_code == 400


async def test_who_calls_is_asked_before_the_body_is_read(app: AdminApp) -> None:
    async def endless() -> AsyncIterator[bytes]:
        raise AssertionError("the body was read")
        yield b""

    async with app.caller() as nobody:
        assert (await nobody.post("/users", content=endless())).status_code == 401


@pytest.mark.parametrize("error", [RuntimeError("a secret"), Unavailable()])
async def test_a_fault_of_ours_shows_nothing_of_itself(
    app: AdminApp, acme: Tenant, error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def failing(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(app.parts.sessions, "list_page", failing)
    async with app.browser(acme.admin) as admin:
        answer = await admin.get("/sessions")
    expected = {RuntimeError: (500, "internal"), Unavailable: (503, "unavailable")}[type(error)]
    assert (answer.status_code, answer.json()["code"]) == expected
    assert ("retry-after" in answer.headers) == (answer.status_code == 503)
    assert "a secret" not in answer.text + caplog.text


async def test_a_body_that_does_not_come_ends_the_request(
    app: AdminApp, acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never() -> AsyncIterator[bytes]:
        await asyncio.Event().wait()
        yield b""

    monkeypatch.setattr("core.api.middleware.BODY_SECONDS", 0.2)
    async with app.browser(acme.admin) as admin:
        answer = await admin.post("/users", content=never(), headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (408, "request_timeout")


async def test_one_person_cannot_ask_for_everything_at_once(app: AdminApp, acme: Tenant) -> None:
    limited = app.app(callers=CallerLimits(1, 2, 5, clock=lambda: 0.0))
    cookie = {"Cookie": f"{COOKIE}={acme.user.session.reveal()}"}
    async with app.client(limited, cookie) as user:
        answers = [await user.get("/me") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[2].headers["retry-after"]


async def test_wrong_credentials_are_counted_and_told_apart_for_nobody(app: AdminApp, acme: Tenant) -> None:
    values = ["Bearer mcpist_wrong", "Basic abc", f"Bearer {acme.user.token.reveal()}x", "Bearer ", "bearer"]
    told = set()
    for value in values:
        async with app.caller(Authorization=value) as client:
            answer = await client.get("/me")
        told.add((answer.status_code, answer.text.replace(answer.headers["x-request-id"], "")))
    async with app.caller(Cookie=f"{COOKIE}={'x' * 43}") as client:
        answer = await client.get("/me")
    told.add((answer.status_code, answer.text.replace(answer.headers["x-request-id"], "")))
    assert len(told) == 1
    assert len(app.refusals.seen) == len(values) + 1
