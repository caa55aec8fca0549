"""A pasted key is sent as its provider's data say: to be checked and in every call alike, wherever the service is."""

import base64
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from aiohttp import web

from core.directory.services import set_settings
from core.directory.tenants import Tenant
from gateway.catalogue import build_catalogue
from tests.broker.connect.connect_app import Browser, shown
from tests.support.identity import Identity, identity_on
from tests.support.mcp_client import Answer
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR, SPLIT, Person, product_on
from tests.support.toy_vendor import shop_module

KEY = "k-0123456789abcdef"
USER = "a.lovelace@vendor.test"


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


SCHEMES: dict[str, tuple[dict[str, str], tuple[str, str]]] = {
    "bearer": ({}, ("authorization", f"Bearer {KEY}")),
    "basic_user": ({"password": "api_token"}, ("authorization", basic(f"{KEY}:api_token"))),
    "basic_password": ({"user": "x-token"}, ("authorization", basic(f"x-token:{KEY}"))),
    "basic_pair": ({"user_kind": "email"}, ("authorization", basic(f"{USER}:{KEY}"))),
    "header": ({"header": "X-Api-Key"}, ("x-api-key", KEY)),
}


@dataclass
class Vendor:
    """Takes the one header that it knows, and notes every one that may hold a credential."""

    taken: tuple[str, str]
    seen: list[tuple[str, str, str]] = field(default_factory=list)
    url: str = ""
    host: str = ""
    refusal: tuple[int, dict[str, str]] | None = None
    """Status and headers of every answer to the key that it knows, if any."""

    async def answer(self, request: web.Request) -> web.Response:
        given = [(name.lower(), value) for name, value in request.headers.items() if _holds_a_credential(name)]
        self.seen += [(request.path, *one) for one in given]
        if given != [self.taken]:
            return web.json_response({}, status=401)
        if self.refusal is not None:
            return web.json_response("a vendor's own words", status=self.refusal[0], headers=self.refusal[1])
        return web.json_response({"id": 7, "name": "ada", "said": "tea"})


def _holds_a_credential(name: str) -> bool:
    return name.lower() in ("authorization", "x-api-key", "cookie", "proxy-authorization")


@contextlib.asynccontextmanager
async def vendor(taken: tuple[str, str]) -> AsyncIterator[Vendor]:
    made, app = Vendor(taken), web.Application()
    app.router.add_route("*", "/{tail:.*}", made.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.host = f"127.0.0.1:{runner.addresses[0][1]}"
    made.url = f"http://{made.host}"
    try:
        yield made
    finally:
        await runner.cleanup()


@dataclass
class Shops:
    """A product with the modules `kiosk`, `toggl` and `jira`, and a vendor."""

    identity: Identity
    vendor: Vendor
    hosts: tuple[str, ...]

    async def person(self, slug: str = "acme") -> Person:
        product = self.identity.product
        return await product.person(await product.tenant(slug), f"ada@{slug}.test", allow=["*"])

    async def provider(self, tenant: Tenant, scheme: str, *, check: bool, id: str = "kiosk_keys", **more: Any) -> None:
        """A provider of the tenant's own for the kiosk's keys; with `check` it has a request that checks them."""
        url = self.vendor.url
        request: dict[str, Any] = {"check_url": f"{url}/whose", "id": "/id", "name": ["/name"]} if check else {}
        key = {"scheme": scheme, **more, **request}
        document = {"title": "Kiosk keys", "api": [url] if check else [], "key": key, "modules": {"kiosk": {}}}
        async with self.identity.product.database.admin_connection() as admin:
            await admin.execute(
                "INSERT INTO vault.providers (tenant_id, id, document) VALUES ($1, $2, $3::jsonb)",
                tenant.id, id, json.dumps(document),
            )  # fmt: skip

    async def at(self, tenant: Tenant, module: str) -> None:
        """Give a service the vendor's address."""
        settings = {"base_url": self.vendor.url}
        await set_settings(self.identity.product.console, ACTOR, tenant.id, module, lambda _: settings)

    @contextlib.asynccontextmanager
    async def browser(self, person: Person) -> AsyncIterator[Browser]:
        async with httpx2.AsyncClient(timeout=20) as http:
            made = Browser(http, self.identity.url)
            await made.sign_in(self.identity, person)
            yield made

    async def paste(self, person: Person, module: str, **fields: str) -> str:
        """Paste a key on the page; what it shows afterwards."""
        async with self.browser(person) as browser:
            return shown(await browser.follow(f"/connect/{module}/key", **fields))

    async def call(self, person: Person, module: str) -> Answer:
        """Through a gateway of its own, in the form that the test has chosen."""
        async with self.identity.product.gateway(allowed_private_hosts=self.hosts) as node:
            return await node.call(person.token, module, "look", {"what": "tea"})

    async def stored(self) -> list[Mapping[str, Any]]:
        async with self.identity.product.database.admin_connection() as admin:
            return await admin.fetch("SELECT module, scheme, origins FROM vault.credentials ORDER BY module")


@contextlib.asynccontextmanager
async def shops(database: ScratchDatabase, folder: Path, taken: tuple[str, str]) -> AsyncIterator[Shops]:
    async with contextlib.AsyncExitStack() as stack:
        made = await stack.enter_async_context(vendor(taken))
        shop, jira = shop_module(made.url), shop_module("https://api.atlassian.test/ex/jira/{site}")
        modules = [replace(shop, name=name, title=name.title()) for name in ("kiosk", "toggl")]
        catalogue = build_catalogue([*modules, replace(jira, name="jira", title="Jira")])
        product = await stack.enter_async_context(product_on(database, folder / "home", catalogue=catalogue))
        opening = identity_on(product, providers=False, allowed_private_hosts=(made.host,))
        identity = await stack.enter_async_context(opening)
        yield Shops(identity, made, (made.host,))


@pytest.fixture(params=["one process", "split"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How the gateway of a call reaches its broker."""
    monkeypatch.setenv(SPLIT, "" if request.param == "one process" else "1")


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("check", [True, False], ids=["by the provider", "by the module"])
async def test_a_key_is_checked_and_sent_alike(
    database: ScratchDatabase, tmp_path: Path, scheme: str, check: bool
) -> None:
    """Two tenants: the other one's keys go out as its own provider says."""
    more, header = SCHEMES[scheme]
    async with shops(database, tmp_path, header) as app:
        ada, eve = await app.person("acme"), await app.person("globex")
        await app.provider(ada.tenant, scheme, check=check, **more)
        user = {"key_user": USER} if scheme == "basic_pair" else {}
        assert "Connected as ada" in await app.paste(ada, "kiosk", key=KEY, **user)
        answer = await app.call(ada, "kiosk")
        assert not answer.failed, answer.text
        paths = ["/whose" if check else "/me", "/look"]
        assert app.vendor.seen == [(path, *header) for path in paths]
        if scheme != "bearer":
            assert "does not accept this token" in await app.paste(eve, "kiosk", key=KEY)
            assert app.vendor.seen[-1] == ("/me", "authorization", f"Bearer {KEY}")


async def test_toggl_as_it_comes_at_an_address_of_its_own(database: ScratchDatabase, tmp_path: Path) -> None:
    header = SCHEMES["basic_user"][1]
    async with shops(database, tmp_path, header) as app:
        ada = await app.person()
        await app.at(ada.tenant, "toggl")
        assert "Connected as ada" in await app.paste(ada, "toggl", key=KEY)
        assert not (await app.call(ada, "toggl")).failed
        assert app.vendor.seen == [("/me", *header), ("/look", *header)]
        (stored,) = await app.stored()
        assert (json.loads(stored["scheme"]), stored["origins"]) == (
            {
                "kind": "basic_user",
                "fixed": "api_token",
                "quota": {
                    "status": 402,
                    "resets_in": "x-toggl-quota-resets-in",
                    "remaining": "x-toggl-quota-remaining",
                },
            },
            [app.vendor.url],
        )


async def test_atlassian_takes_an_e_mail_address_and_a_token(database: ScratchDatabase, tmp_path: Path) -> None:
    header = SCHEMES["basic_pair"][1]
    async with shops(database, tmp_path, header) as app:
        ada = await app.person()
        async with app.browser(ada) as browser:
            page = await browser.get("/connect/jira")
            assert "E-mail address" not in shown(page), "no key says which site is meant"
            assert (await browser.post("/connect/jira/key", key=KEY, key_user=USER)).status_code == 404
            await app.at(ada.tenant, "jira")
            page = await browser.get("/connect/jira")
            assert 'type="email" name="key_user"' in page.text
            assert 'name="provider" value="atlassian"' in page.text
            for wrong in ("", "ada:acme", "ada\x00@acme.test"):
                page = await browser.post("/connect/jira/key", key=KEY, key_user=wrong, provider="atlassian")
                assert (page.status_code, "e-mail address" in shown(page)) == (400, True), wrong
            assert app.vendor.seen == [], "sent nowhere"
            page = await browser.follow("/connect/jira/key", key=KEY, key_user=USER, provider="atlassian")
            assert "Connected as ada" in shown(page)
        assert not (await app.call(ada, "jira")).failed
        assert app.vendor.seen == [("/me", *header), ("/look", *header)]


async def test_a_pair_by_the_api(database: ScratchDatabase, tmp_path: Path) -> None:
    async with shops(database, tmp_path, SCHEMES["basic_pair"][1]) as app:
        ada = await app.person()
        await app.at(ada.tenant, "jira")
        await app.at(ada.tenant, "toggl")
        async with app.browser(ada) as browser:

            async def put(module: str, **asked: str) -> httpx2.Response:
                url = f"{browser.url}/api/v1/services/{module}/credential"
                return await browser.http.put(url, json={"secret": KEY, **asked}, headers={"Origin": browser.url})

            assert "user name or e-mail address beside the token" in (await put("jira")).json()["detail"]
            assert "Toggl does not use one" in (await put("toggl", username=USER)).json()["detail"]
            assert (await put("jira", username=USER, provider="github")).status_code == 404
            stored = await put("jira", username=USER, provider="atlassian")
            assert (stored.status_code, stored.json()["account"]) == (200, "ada")
            assert KEY not in stored.text
        assert not (await app.call(ada, "jira")).failed


async def test_where_several_providers_have_keys_the_form_says_whose_it_is(
    database: ScratchDatabase, tmp_path: Path
) -> None:
    more, header = SCHEMES["basic_user"]
    async with shops(database, tmp_path, header) as app:
        ada = await app.person()
        await app.provider(ada.tenant, "header", check=True, id="a_first", header="X-Api-Key")
        await app.provider(ada.tenant, "basic_user", check=True, id="b_second", **more)
        assert "does not accept this token" in await app.paste(ada, "kiosk", key=KEY)
        assert "does not accept this token" in await app.paste(ada, "kiosk", key=KEY, provider="a_first")
        assert "Connected as ada" in await app.paste(ada, "kiosk", key=KEY, provider="b_second")
        assert not (await app.call(ada, "kiosk")).failed


async def test_a_provider_that_is_changed_later_changes_nothing_about_stored_keys(
    database: ScratchDatabase, tmp_path: Path
) -> None:
    more, header = SCHEMES["header"]
    async with shops(database, tmp_path, header) as app:
        ada = await app.person()
        await app.provider(ada.tenant, "header", check=True, **more)
        assert "Connected as ada" in await app.paste(ada, "kiosk", key=KEY)
        async with app.identity.product.database.admin_connection() as admin:
            await admin.execute("DELETE FROM vault.providers")
        assert not (await app.call(ada, "kiosk")).failed


@pytest.mark.parametrize("key", ["k\r\nX-Other: 1", "k\nk", "k k", "k\x00", "kö"])
async def test_a_key_that_would_end_its_header_is_sent_nowhere(
    database: ScratchDatabase, tmp_path: Path, key: str
) -> None:
    more, header = SCHEMES["header"]
    async with shops(database, tmp_path, header) as app:
        ada = await app.person()
        await app.provider(ada.tenant, "header", check=False, **more)
        assert "does not look like a whole token" in await app.paste(ada, "kiosk", key=key)
        assert (app.vendor.seen, await app.stored()) == ([], [])
