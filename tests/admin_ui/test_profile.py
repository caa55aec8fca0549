"""One's own profile: what the caller may do, name, language, time zone, shortcuts."""

from datetime import timedelta
from typing import Any

import pytest

from core.scopes import ADMIN_READ, MCP_SCOPES, READ
from tests.admin_ui.admin_app import ACTOR, OPERATORS, AdminApp, Tenant
from tests.admin_ui.test_route_walk import asked, made_up, operations

RANKS = {"anyone": "", "user": "own", "admin": "tenant", "operator": "deployment"}


async def test_a_person_changes_their_own_profile_and_nobody_else_s(app: AdminApp, acme: Tenant) -> None:
    globex = await app.tenant("globex")
    async with app.browser(acme.user) as user, app.browser(globex.user) as stranger, app.browser(acme.admin) as admin:
        before, others = (await user.get("/me")).json(), (await stranger.get("/me")).json()
        assert (before["language"], before["time_zone"], before["single_key_shortcuts"]) == (None, None, True)
        assert before["guided_start"] is False
        wanted = {"name": "ユーザー", "language": "ja", "time_zone": "Asia/Tokyo", "single_key_shortcuts": False}
        wanted["guided_start"] = True
        changed = await user.patch("/me", json=wanted)
        assert changed.json() == before | wanted | {"recent_sign_in_until": changed.json()["recent_sign_in_until"]}
        assert (await user.patch("/me", json={})).json()["language"] == "ja"
        again = (await user.patch("/me", json={"language": None, "time_zone": None, "name": None})).json()
        assert (again["language"], again["time_zone"], again["name"]) == (None, None, "ユーザー")
        assert (await stranger.get("/me")).json() == others
        await app.seal()
        events = (await admin.get("/audit", params={"kind": "profile"})).json()["items"]
    assert [one["user_id"] for one in events] == [str(acme.user.id)] * 2
    assert events[1]["detail"] == {"name": "ユーザー", "language": "ja", "time_zone": "Asia/Tokyo"} | {
        "single_key_shortcuts": 0,
        "guided_start": 1,
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"language": "fr"},
        {"time_zone": "Mars/Olympus"},
        {"time_zone": "../../etc/passwd"},
        {"time_zone": "Asia/Tokyo\x00"},
        {"time_zone": ""},
        {"name": "x" * 201},
        {"name": "two\nlines"},
        {"single_key_shortcuts": "perhaps"},
        {"guided_start": "later"},
        {"email": "other@acme.example"},
        {"system_role": "admin"},
    ],
)
async def test_a_wrong_value_changes_nothing(app: AdminApp, acme: Tenant, wrong: dict[str, Any]) -> None:
    async with app.browser(acme.user) as user:
        before = (await user.get("/me")).json()
        answer = await user.patch("/me", json={"name": "New"} | wrong)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
        assert (await user.get("/me")).json() == before


async def test_a_credential_that_only_reads_changes_no_profile(app: AdminApp, acme: Tenant) -> None:
    _, token = await app.parts.tokens.create(ACTOR, acme.id, acme.user.id, "reads", scopes=frozenset({READ}))
    async with app.script(token) as script:
        assert (await script.patch("/me", json={"name": "New"})).json()["code"] == "insufficient_scope"
        assert (await script.get("/me")).json()["rights"] == ["own.read"]


@pytest.mark.guarantee("G9")
async def test_the_rights_told_are_those_that_the_routes_grant(app: AdminApp, acme: Tenant) -> None:
    """For each kind of credential: an operation is refused as forbidden exactly where the right is missing."""
    operators = await app.tenant(OPERATORS)
    _, reading = await app.parts.tokens.create(ACTOR, acme.id, acme.admin.id, "r", scopes=frozenset({ADMIN_READ}))
    _, modest = await app.parts.tokens.create(ACTOR, acme.id, acme.admin.id, "m", scopes=MCP_SCOPES)
    clients = [
        app.browser(acme.user),
        app.browser(acme.admin),
        app.browser(operators.admin),
        app.script(reading),
        app.script(modest),
        app.script(acme.user.token),
    ]
    walked = [
        one
        for one in operations(app.openapi())
        if one.access["scopes"] and one.access["required_role"] != "anyone" and not one.asks_whose
    ]
    nobodys = made_up()
    for client in clients:
        rights = (await client.get("/me")).json()["rights"]
        for one in walked:
            if one.name in ("DELETE /sessions", "PATCH /me") or one.access["recent_sign_in"]:
                continue
            kind = "read" if any(scope.endswith("read") for scope in one.access["scopes"]) else "write"
            answer = await asked(client, one, nobodys)
            is_refused = answer.status_code == 403
            told = f"{RANKS[one.access['required_role']]}.{kind}" in rights
            assert is_refused != told, f"{one.name}: {answer.status_code} {answer.text} {rights}"
        await client.aclose()


async def test_it_says_how_long_new_credentials_may_be_made(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.user) as user, app.script(acme.user.token) as script:
        me = (await user.get("/me")).json()
        assert me["recent_sign_in_until"] > me["authenticated_at"]
        assert (await script.get("/me")).json()["recent_sign_in_until"] is None
        app.clock.ahead = timedelta(minutes=11)
        assert (await user.get("/me")).json()["recent_sign_in_until"] is None
