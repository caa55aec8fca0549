"""API tokens over the API (threat-model.md §2, row 34), and what secret scanners report."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.caller import Credential
from core.concurrency.rate_limits import AttemptLimits
from core.scopes import ALL_SCOPES
from core.secret import Secret
from tests.admin_ui.admin_app import ACTOR, OPERATORS, OWN_CLIENT, AdminApp, Tenant

MINE = {"name": "mine", "scopes": ["mcp:read"]}


async def test_a_token_from_making_to_revoking(app: AdminApp, acme: Tenant) -> None:
    later = (datetime.now(UTC) + timedelta(days=3)).isoformat()
    async with app.browser(acme.user) as browser:
        made = await browser.post("/tokens", json=MINE | {"expires_at": later, "read_only": True})
        assert made.status_code == 201
        async with app.script(Secret(made.json()["token"])) as script:
            me = (await script.get("/me")).json()
            assert (me["email"], me["authentication_method"], me["scopes"]) == (
                "user@acme.example",
                "token",
                ["mcp:read"],
            )
        newest, first = (await browser.get("/tokens")).json()["items"]
        assert newest["id"] == made.json()["id"]
        assert (newest["read_only"], newest["last_used_at"] is not None) == (True, True)
        assert made.json()["token"] not in (await browser.get("/tokens")).text
        assert first["id"] == acme.user.token_id
        assert (await browser.delete(f"/tokens/{newest['id']}")).status_code == 204
        async with app.script(Secret(made.json()["token"])) as script:
            assert (await script.get("/me")).status_code == 401
        assert (await browser.delete(f"/tokens/{newest['id']}")).status_code == 404
        for revoked, listed in ((True, [newest["id"], first["id"]]), (False, [first["id"]])):
            items = (await browser.get("/tokens", params={"revoked": revoked})).json()["items"]
            assert [item["id"] for item in items] == listed


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        (MINE, 201),
        (MINE | {"scopes": ["mcp:read", "mcp:write"]}, 201),
        (MINE | {"scopes": ["admin:read"]}, 403),
        (MINE | {"scopes": ["mcp:read", "admin:write"]}, 403),
        (MINE | {"scopes": []}, 400),
        (MINE | {"scopes": ["everything"]}, 400),
        (MINE | {"user_id": "3f1c0a7e-0000-4000-8000-000000000000"}, 403),
        (MINE | {"user_id": "somebody"}, 400),
        (MINE | {"name": ""}, 400),
        (MINE | {"expires_at": "2020-01-01T00:00:00Z"}, 400),
        (MINE | {"expires_at": "2099-01-01T00:00:00"}, 400),
        (MINE | {"expires_at": 4_070_908_800}, 400),
        (MINE | {"expires_at": "4070908800"}, 400),
    ],
)
async def test_what_a_user_may_ask_for(app: AdminApp, acme: Tenant, asked: dict[str, Any], status: int) -> None:
    async with app.browser(acme.user) as browser:
        answer = await browser.post("/tokens", json=asked)
    assert answer.status_code == status, answer.text
    assert await app.value("SELECT count(*) FROM auth.api_tokens") == (3 if status == 201 else 2)


@pytest.mark.parametrize(("wanted", "status"), [("short", 201), ("full", 201), (None, 201), ("", 400), ("none", 400)])
async def test_what_a_token_s_client_is_sent(app: AdminApp, acme: Tenant, wanted: str | None, status: int) -> None:
    async with app.browser(acme.user) as browser:
        made = await browser.post("/tokens", json=MINE | {"tool_result_format": wanted})
        assert made.status_code == status, made.text
        newest = (await browser.get("/tokens")).json()["items"][0]
        assert newest["tool_result_format"] == (wanted if status == 201 else None)
    if status == 201:
        verdict = await app.parts.tokens.verify(Secret(made.json()["token"]))
        assert isinstance(verdict, Credential)
        assert verdict.tool_result_format == (wanted or "")


@pytest.mark.parametrize(("wanted", "status"), [(None, 201), (200, 201), (50_000, 201), (199, 400), (50_001, 400)])
async def test_how_large_a_token_s_results_are(app: AdminApp, acme: Tenant, wanted: int | None, status: int) -> None:
    async with app.browser(acme.user) as browser:
        made = await browser.post("/tokens", json=MINE | {"result_tokens": wanted})
        assert made.status_code == status, made.text
        newest = (await browser.get("/tokens")).json()["items"][0]
        assert newest["result_tokens"] == (wanted if status == 201 else None)
    if status == 201:
        verdict = await app.parts.tokens.verify(Secret(made.json()["token"]))
        assert isinstance(verdict, Credential)
        assert verdict.result_tokens == (wanted or 0)


async def test_nobody_but_the_operator_makes_a_token_for_another_user(app: AdminApp, acme: Tenant) -> None:
    globex, operators = await app.tenant("globex"), await app.tenant(OPERATORS)
    before = await app.value("SELECT count(*) FROM auth.api_tokens")
    for caller in (acme.user, acme.admin, operators.admin):
        async with app.browser(caller) as browser:
            for owner in {acme.user.id, acme.admin.id, globex.user.id, globex.admin.id} - {caller.id}:
                refused = await browser.post("/tokens", json=MINE | {"user_id": str(owner)})
                assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert await app.value("SELECT count(*) FROM auth.api_tokens") == before
    async with app.browser(acme.user) as browser:
        assert (await browser.post("/tokens", json=MINE | {"user_id": str(acme.user.id)})).status_code == 201


async def test_an_administrator_may_have_admin_scopes(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as browser:
        assert (await browser.post("/tokens", json=MINE | {"scopes": ["admin:write"]})).status_code == 201


@pytest.mark.parametrize(("minutes", "status"), [(9.9, 201), (10.1, 403)])
async def test_it_takes_a_sign_in_of_the_last_ten_minutes(
    app: AdminApp, acme: Tenant, minutes: float, status: int
) -> None:
    app.clock.ahead = timedelta(minutes=minutes)
    async with app.browser(acme.user) as browser:
        answer = await browser.post("/tokens", json=MINE)
    assert answer.status_code == status
    assert status == 201 or answer.json()["code"] == "recent_sign_in_required"


async def test_a_token_makes_no_tokens_links_or_clients(app: AdminApp, acme: Tenant) -> None:
    async with app.script(acme.admin.token) as script:
        answers = [
            await script.post("/tokens", json=MINE),
            await script.post(f"/users/{acme.user.id}/sign-in-link"),
            await script.post("/oauth/clients", json={"name": "x", "redirect_uris": ["https://x.example/"]}),
        ]
    assert {(one.status_code, one.json()["code"]) for one in answers} == {(403, "recent_sign_in_required")}


@pytest.mark.parametrize(("client", "status"), [(OWN_CLIENT, 201), ("client_of_somebody", 403)])
async def test_only_a_client_of_our_own_makes_tokens_for_a_person(
    app: AdminApp, acme: Tenant, client: str, status: int
) -> None:
    await app.execute("UPDATE auth.grants SET client_id = $2 WHERE id = $1", acme.user.grant_id, client)
    async with app.script(app.access_token(acme.user, client)) as script:
        assert (await script.get("/me")).json()["authentication_method"] == "oauth"
        assert (await script.post("/tokens", json=MINE)).status_code == status
        app.clock.ahead = timedelta(minutes=11)
        assert (await script.post("/tokens", json=MINE)).json()["code"] == "recent_sign_in_required"


async def test_an_access_token_gives_no_scope_that_it_lacks(app: AdminApp, acme: Tenant) -> None:
    token = app.access_token(acme.admin, OWN_CLIENT, frozenset({"mcp:write"}))
    async with app.script(token) as script:
        answer = await script.post("/tokens", json=MINE | {"scopes": ["admin:read"]})
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


async def test_a_tenant_may_set_a_longest_life(app: AdminApp, acme: Tenant) -> None:
    def within(days: int) -> dict[str, str]:
        return {"expires_at": (datetime.now(UTC) + timedelta(days=days)).isoformat()}

    async with app.browser(acme.admin) as browser:
        assert (await browser.patch("/tenant", json={"max_token_lifetime_days": 30})).json()[
            "max_token_lifetime_days"
        ] == 30
        answers = [await browser.post("/tokens", json=MINE | more) for more in ({}, within(31), within(29))]
        assert [one.status_code for one in answers] == [400, 400, 201]
        assert "30 days" in answers[0].json()["detail"]
        await browser.patch("/tenant", json={"max_token_lifetime_days": None})
        assert (await browser.post("/tokens", json=MINE)).status_code == 201


async def test_asked_again_with_the_same_key_there_is_one_token(app: AdminApp, acme: Tenant) -> None:
    headers = {"Idempotency-Key": "4f7c"}
    async with app.browser(acme.user) as user, app.browser(acme.admin) as admin:
        first = await user.post("/tokens", json=MINE, headers=headers)
        again = await user.post("/tokens", json=MINE, headers=headers)
        another = await admin.post("/tokens", json=MINE, headers=headers)
    assert (first.status_code, again.status_code, another.status_code) == (201, 409, 201)
    assert first.json()["id"] in again.json()["detail"]
    assert await app.value("SELECT count(*) FROM auth.api_tokens WHERE name = 'mine'") == 2


async def test_administrators_see_and_end_others_tokens_and_others_do_not(app: AdminApp, acme: Tenant) -> None:
    theirs = {"user": str(acme.admin.id)}
    async with app.browser(acme.user) as user, app.browser(acme.admin) as admin:
        for path in ("/tokens", "/sessions", "/oauth/grants"):
            assert (await user.get(path, params=theirs)).status_code == 403
            listed = (await admin.get(path, params={"user": str(acme.user.id)})).json()["items"]
            assert len(listed) == 1
        assert (await user.delete(f"/tokens/{acme.admin.token_id}")).status_code == 404
        assert (await admin.delete(f"/tokens/{acme.user.token_id}")).status_code == 204


async def test_a_token_with_mcp_scopes_alone_administers_nothing(app: AdminApp, acme: Tenant) -> None:
    async with app.script(app.access_token(acme.admin, OWN_CLIENT)) as script:
        assert (await script.get("/users")).json()["code"] == "insufficient_scope"
        assert (await script.get("/sessions", params={"user": str(acme.user.id)})).status_code == 403
        assert (await script.delete(f"/tokens/{acme.user.token_id}")).status_code == 404


async def test_pages_of_tokens_hold_each_once(app: AdminApp, acme: Tenant) -> None:
    for number in range(5):
        await app.parts.tokens.create(ACTOR, acme.id, acme.user.id, f"n{number}")
    seen: list[str] = []
    async with app.browser(acme.user) as browser:
        params: dict[str, Any] = {"limit": 2}
        while True:
            page = (await browser.get("/tokens", params=params)).json()
            assert len(page["items"]) <= 2
            seen += [one["name"] for one in page["items"]]
            if page["next_cursor"] is None:
                break
            params["cursor"] = page["next_cursor"]
    assert seen == ["n4", "n3", "n2", "n1", "n0", "of user@acme.example"]


async def test_leaked_tokens_end_and_the_answer_tells_nobody_which_were_real(app: AdminApp, acme: Tenant) -> None:
    live, other = acme.user.token.reveal(), acme.admin.token.reveal()
    almost = other[:-10] + ("A" * 10)
    report = [{"token": live, "type": "mcpist", "url": "https://github.example/x", "source": "commit"}, almost, "noise"]
    async with app.caller() as scanner:
        real = await scanner.post("/leaked", json=report)
        again = await scanner.post("/leaked", json=report)
        none = await scanner.post("/leaked", json=["noise"])
    assert {(one.status_code, one.text) for one in (real, again, none)} == {(200, "[]")}
    async with app.script(acme.user.token) as user, app.script(acme.admin.token) as admin:
        assert (await user.get("/me")).status_code == 401
        assert (await admin.get("/me")).status_code == 200
    await app.seal()
    async with app.browser(acme.admin) as browser:
        (item,) = (await browser.get("/audit", params={"kind": "token.revoked"})).json()["items"]
    assert (item["actor"], item["detail"]) == ("secret scanner", {"token": acme.user.token_id, "cause": "leaked"})


@pytest.mark.parametrize("report", [[], ["x"] * 101, ["x" * 501], {"token": "x"}, [7], [{"url": "https://x"}]])
async def test_a_report_has_its_limits(app: AdminApp, acme: Tenant, report: Any) -> None:
    async with app.caller() as scanner:
        assert (await scanner.post("/leaked", json=report)).status_code == 400


async def test_one_address_may_report_only_so_often(app: AdminApp, acme: Tenant) -> None:
    async with app.client(app.app(anonymous=AttemptLimits(1, 2, clock=lambda: 0.0)), {}) as scanner:
        answers = [await scanner.post("/leaked", json=["x"]) for _ in range(3)]
    assert [one.status_code for one in answers] == [200, 200, 429]


async def test_every_scope_of_an_administrator_s_session(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.admin) as admin, app.browser(acme.user) as user:
        assert (await admin.get("/me")).json()["scopes"] == sorted(ALL_SCOPES)
        assert (await user.get("/me")).json()["scopes"] == ["mcp:read", "mcp:write"]
