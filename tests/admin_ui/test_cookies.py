"""Requests with a cookie that change something have to come from our own pages (threat-model.md §2, row 36)."""

from collections.abc import Mapping

import pytest

from tests.admin_ui.admin_app import COOKIE, URL, AdminApp, Tenant
from tests.admin_ui.test_route_walk import FIXED, ids_of, operations

FOREIGN: list[Mapping[str, str]] = [
    {},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": f"{URL}.evil.example"},
    {"Origin": "http://mcp.test"},
    {"Origin": f"{URL}:8443"},
    {"Origin": URL, "Sec-Fetch-Site": "cross-site"},
    {"Origin": URL, "Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Referer": f"{URL}/console"},
]
OWN: list[Mapping[str, str]] = [
    {"Origin": URL},
    {"Origin": URL, "Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "same-origin"},
]


async def test_every_unsafe_route_refuses_what_comes_from_elsewhere(app: AdminApp, acme: Tenant) -> None:
    walked = [
        one for one in operations(app.openapi()) if one.method != "GET" and one.access["required_role"] != "anyone"
    ]
    assert len(walked) > 15
    ids = {name: value.replace("@", "%40") for name, value in {**FIXED, **ids_of(acme, acme.user)}.items()}
    async with app.caller(Cookie=f"{COOKIE}={acme.admin.session.reveal()}") as browser:
        for one in walked:
            for headers in FOREIGN:
                answer = await browser.request(one.method, one.path.format_map(ids), headers=headers)
                assert (answer.status_code, answer.json()["code"]) == (403, "cross_origin"), (one.name, headers)
    assert await app.value("SELECT count(*) FROM core.users WHERE tenant_id = $1", acme.id) == 2


@pytest.mark.parametrize("headers", OWN)
async def test_our_own_pages_may(app: AdminApp, acme: Tenant, headers: Mapping[str, str]) -> None:
    async with app.caller(Cookie=f"{COOKIE}={acme.admin.session.reveal()}", **headers) as browser:
        assert (await browser.put("/allow-list/%40more.example")).status_code == 200


async def test_reading_needs_no_origin_and_a_bearer_token_neither(app: AdminApp, acme: Tenant) -> None:
    async with app.caller(Cookie=f"{COOKIE}={acme.admin.session.reveal()}") as browser:
        assert (await browser.get("/users")).status_code == 200
    async with app.script(acme.admin.token) as script:
        assert (await script.put("/allow-list/%40more.example")).status_code == 200


async def test_a_wrong_bearer_token_does_not_fall_back_to_the_cookie(app: AdminApp, acme: Tenant) -> None:
    headers = {"Cookie": f"{COOKIE}={acme.admin.session.reveal()}", "Authorization": "Bearer mcpist_wrong"}
    async with app.caller(**headers) as both:
        assert (await both.get("/me")).status_code == 401


@pytest.mark.parametrize("name", ["mcpist-session", "session", "__Secure-mcpist-session"])
async def test_a_cookie_of_another_name_is_none(app: AdminApp, acme: Tenant, name: str) -> None:
    async with app.caller(Cookie=f"{name}={acme.admin.session.reveal()}") as browser:
        assert (await browser.get("/me")).status_code == 401


async def test_an_ended_session_is_none(app: AdminApp, acme: Tenant) -> None:
    async with app.browser(acme.user) as browser:
        assert (await browser.delete(f"/sessions/{acme.user.session_id}")).status_code == 204
        assert (await browser.get("/me")).status_code == 401
