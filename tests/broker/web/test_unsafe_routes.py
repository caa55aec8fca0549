"""Every route of identity that changes something, found in the running product's own table, so that a new one is walked
too: what another site has a browser send is refused (threat-model.md §2, row 36). The admin API's are walked in
tests/admin_ui/test_cookies.py."""

from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from starlette.routing import BaseRoute, Route

from admin_ui.console_files import is_console_built
from broker.web.security_headers import CSRF_EXEMPT_PATHS
from core.http.same_origin import SAFE_METHODS
from tests.support.identity import Identity, identity_on
from tests.support.postgres import ScratchDatabase
from tests.support.product import Person, product_on

FORM = "application/x-www-form-urlencoded"


@pytest.fixture
async def identity(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[Identity]:
    server = {"dynamic_registration": True}
    async with (
        product_on(database, tmp_path / "home") as product,
        identity_on(product, providers=False, server=server) as running,
    ):
        yield running


@pytest.fixture
async def ada(identity: Identity) -> Person:
    return await identity.product.person(await identity.product.tenant("acme"), "ada@acme.test")


def table(identity: Identity) -> list[BaseRoute]:
    """All routes that the product serves besides the gateway's own paths."""
    app: Any = identity.gateway.app.otherwise
    return app._router.routes


def unsafe(identity: Identity) -> Iterator[tuple[str, str]]:
    routes = [route for route in table(identity) if isinstance(route, Route)]
    assert len(table(identity)) - len(routes) == 2, (
        "but for the admin API and SCIM, which reads no cookie, all are plain"
    )
    for route in routes:
        for method in sorted((route.methods or set()) - SAFE_METHODS):
            yield method, route.path


def foreign(own: str) -> list[Mapping[str, str]]:
    host = own.removeprefix("http://")
    return [
        {},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": f"https://{host}"},
        {"Origin": f"{own}.evil.example"},
        {"Origin": own.rpartition(":")[0]},
        {"Origin": own.replace("127.0.0.1", "localhost")},
        {"Origin": own, "Sec-Fetch-Site": "cross-site"},
        {"Origin": own, "Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Referer": f"{own}/account"},
        {"X-Requested-With": "XMLHttpRequest"},
    ]


async def changed(identity: Identity) -> str:
    """Everything that a form of ours could change."""
    tables = ("auth.sessions", "auth.grants", "auth.consents", "auth.codes", "auth.sign_ins", "auth.one_time_links")
    async with identity.product.database.admin_connection() as admin:
        sql = "SELECT string_agg((to_jsonb(t) - 'last_seen_at')::text, ' ') FROM {} t"
        states = [await admin.fetchval(sql.format(name)) for name in tables]
    return str(states)


async def test_every_route_that_changes_something_refuses_other_sites(identity: Identity, ada: Person) -> None:
    walked = [(method, path) for method, path in unsafe(identity) if path not in CSRF_EXEMPT_PATHS]
    assert ("POST", "/oauth/authorize") in walked
    assert ("POST", "/account/identities/tie") in walked
    assert len(walked) >= 8
    cookie = await identity.session(ada)
    code = (await identity.link(ada)).partition("code=")[2]
    before = await changed(identity)
    body = f"provider=company&next=/account&id={uuid4()}&tenant={ada.tenant.id}&code={code}&decision=allow"
    async with httpx2.AsyncClient(base_url=identity.url) as http:
        for method, path in walked:
            for headers in foreign(identity.url):
                for cookies in ({"Cookie": cookie}, {}):
                    answer = await http.request(
                        method, path, content=body, headers={**headers, **cookies, "Content-Type": FORM}
                    )
                    assert (answer.status_code, "came from another site" in answer.text) == (403, True), (
                        method,
                        path,
                        headers,
                    )
                    assert "set-cookie" not in answer.headers, (path, headers)
    assert await changed(identity) == before


async def test_what_programs_call_reads_no_cookie(identity: Identity, ada: Person) -> None:
    """They are left out of the check, so a session must be worth nothing there; and they are these five."""
    assert {path for _, path in unsafe(identity)} & CSRF_EXEMPT_PATHS == CSRF_EXEMPT_PATHS - {"/api/v1/leaked"}
    cookie = await identity.session(ada)
    forms: Mapping[str, Mapping[str, str]] = {
        "/oauth/token": {"grant_type": "client_credentials"},
        "/oauth/revoke": {"token": "x"},
        "/oauth/register": {},
        "/register": {},
    }
    async with httpx2.AsyncClient(base_url=identity.url) as http:
        for path, fields in forms.items():
            with_cookie = await http.post(path, data=dict(fields), headers={"Cookie": cookie})
            without = await http.post(path, data=dict(fields))
            assert (with_cookie.status_code, with_cookie.text) == (without.status_code, without.text)
            assert with_cookie.status_code in (400, 401, 404)
            assert "set-cookie" not in with_cookie.headers


async def test_no_route_changes_anything_by_reading(identity: Identity, ada: Person) -> None:
    """A link, an image or a prefetch of another site makes a browser read, with its cookie where it navigates."""
    cookie = await identity.session(ada)
    before = await changed(identity)
    query = f"?id={uuid4()}&provider=company&decision=allow&tenant={ada.tenant.id}"
    async with httpx2.AsyncClient(base_url=identity.url, headers={"Cookie": cookie}) as http:
        for route in table(identity):
            if isinstance(route, Route) and "GET" in (route.methods or ()):
                for method in ("GET", "HEAD"):
                    path = route.path.replace("{provider}", "company")
                    answer = await http.request(method, path + query)
                    is_missing = answer.status_code == 503 and path.startswith("/console") and not is_console_built()
                    assert answer.status_code < 500 or is_missing, route.path
    assert await changed(identity) == before
