"""The admin API where it stands: in the whole product, on a loopback port, with real credentials of each kind."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.broker.authorization_server.grants import add_grant, revoke
from tests.support.identity import Identity, identity_on
from tests.support.postgres import ScratchDatabase
from tests.support.product import Person, product_on

SLUGS = ("default", "acme", "globex")


@pytest.fixture
async def identity(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[Identity]:
    async with product_on(database, tmp_path / "home") as product, identity_on(product, providers=False) as running:
        yield running


@pytest.fixture
async def ada(identity: Identity) -> Person:
    tenant = await identity.product.tenant("default")
    person = await identity.product.person(tenant, "ada@acme.test")
    async with identity.product.database.admin_connection() as admin:
        await admin.execute("UPDATE core.users SET system_role = 'admin'")
    return await identity.product.with_token(person, scopes=["admin:write"])


def calling(identity: Identity, **headers: str) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(base_url=f"{identity.url}/api/v1", headers=headers, timeout=60)


async def test_each_kind_of_credential_reaches_it(identity: Identity, ada: Person) -> None:
    cookie = await identity.session(ada)
    async with calling(identity, Cookie=cookie) as browser, calling(identity) as nobody:
        me = (await browser.get("/me")).json()
        assert (me["email"], me["authentication_method"], me["operator"]) == ("ada@acme.test", "session", True)
        assert (await browser.put("/allow-list/%40acme.test")).status_code == 403
        assert (await browser.put("/allow-list/%40acme.test", headers={"Origin": identity.url})).status_code == 200
        assert (await browser.get("/tenants")).json()["items"][0]["slug"] == "default"
        answer = await nobody.get("/me")
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
        assert answer.headers["www-authenticate"].startswith("Bearer ")
        assert (await nobody.get("/made-up")).status_code == 404
        document = (await nobody.get("/openapi.json")).json()
        assert document["openapi"].startswith("3.1")
        assert {"/api/v1/users", "/api/v1/sessions"} < set(document["paths"])
    async with calling(identity, Authorization=f"Bearer {ada.token}") as script:
        assert (await script.get("/users")).json()["items"][0]["email"] == "ada@acme.test"
        assert (await script.post("/users", json={"email": "bob@acme.test"})).status_code == 201


async def test_a_base_url_that_is_none_is_not_stored(identity: Identity, ada: Person) -> None:
    async with calling(identity, Authorization=f"Bearer {ada.token}") as script:
        for wrong in ("", "github.example.com", "https://user:hunter2@host.example", "https://host.example:99999"):
            answer = await script.patch("/services/github", json={"settings": {"base_url": wrong}})
            assert (answer.status_code, "it must look like https://host/path" in answer.text) == (400, True)
            assert "hunter2" not in answer.text
        right = await script.patch("/services/github", json={"settings": {"base_url": "https://ghe.acme.test/api/v3"}})
        assert right.json()["settings"] == {"base_url": "https://ghe.acme.test/api/v3"}
        assert (await script.patch("/services/github", json={"settings": {"base_url": None}})).json()["settings"] == {}


async def test_an_access_token_counts_until_its_grant_ends(identity: Identity, ada: Person) -> None:
    zone = identity.zone
    clock: Any = identity.product.clock
    assert zone.own_tokens is not None
    grant = await add_grant(
        zone.database, clock, ada.tenant.id, ada.id, "mcp:read", "admin:read", resource=f"{identity.url}/mcp"
    )
    token, _ = await zone.own_tokens.access_tokens.mint(grant, clock())
    async with calling(identity, Authorization=f"Bearer {token.reveal()}") as client:
        me = (await client.get("/me")).json()
        assert (me["authentication_method"], me["scopes"]) == ("oauth", ["admin:read", "mcp:read"])
        assert (await client.get("/users")).status_code == 200
        assert (await client.put("/allow-list/%40acme.test")).json()["code"] == "insufficient_scope"
        await revoke(zone.database, clock, grant)
        assert (await client.get("/users")).status_code == 401


@pytest.mark.parametrize(("setting", "operators"), [("globex", ["globex"]), ("", [])])
async def test_who_operates_the_deployment_is_a_setting(
    database: ScratchDatabase, tmp_path: Path, setting: str, operators: list[str]
) -> None:
    """Administrators of another tenant, of the first one too, are told that they may not; the same for nobody."""
    async with (
        product_on(database, tmp_path / "home") as product,
        identity_on(product, providers=False, operator_tenant=setting) as running,
    ):
        people = {slug: await product.person(await product.tenant(slug), f"ada@{slug}.test") for slug in SLUGS}
        async with product.database.admin_connection() as admin:
            await admin.execute("UPDATE core.users SET system_role = 'admin'")
        found: list[str] = []
        for slug, person in people.items():
            async with calling(running, Cookie=await running.session(person)) as browser:
                is_one = (await browser.get("/me")).json()["operator"]
                assert (await browser.get("/tenants")).status_code == (200 if is_one else 403)
                assert (await browser.get("/deployment/audit")).status_code == (200 if is_one else 403)
                found += [slug] if is_one else []
        assert found == operators


async def test_the_pages_have_the_clock_of_the_rest(identity: Identity, ada: Person) -> None:
    cookie = await identity.session(ada)
    async with calling(identity, Cookie=cookie, Origin=identity.url) as browser:
        made = await browser.post("/tokens", json={"name": "fresh", "scopes": ["mcp:read"]})
        assert made.status_code == 201
        identity.product.clock.ahead = timedelta(minutes=11)
        later = await browser.post("/tokens", json={"name": "late", "scopes": ["mcp:read"]})
        assert later.json()["code"] == "recent_sign_in_required"
