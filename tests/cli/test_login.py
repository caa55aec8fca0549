"""Signing in from the command line: a real process, a real loopback port, a person with a browser, and who gets in
between them."""

import asyncio
import contextlib
import json
import stat
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest
from aiohttp import web

from cli.client.browser_sign_in import LoginTokens
from cli.client.login_store import Login, LoginStore, get_config_folder
from core.directory.tenants import Tenant
from core.directory.users import create_user
from core.secret import Secret
from tests.cli.laptop import Laptop
from tests.cli.laptop import Person as Browsing
from tests.support.identity import Identity, identity_on
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR, Person, Product, product_on

BOTH = ["mcp:read", "mcp:write"]
ALL = ["admin:read", "admin:write", *BOTH]


@dataclass(slots=True)
class LoginApp:
    """A product with a tenant, its administrator ada and its user bob, and a laptop."""

    product: Product
    identity: Identity
    tenant: Tenant
    ada: Person
    bob: Person
    laptop: Laptop
    browser: httpx2.AsyncClient

    @property
    def url(self) -> str:
        return self.identity.url

    async def person(self, who: Person | None = None) -> Browsing:
        """Somebody who has just signed in, in the one browser; ada unless another is named."""
        person = Browsing(self.url, self.browser)
        await person.sign_in(await self.identity.link(who or self.ada))
        return person

    async def login(self, who: Person | None = None, laptop: Laptop | None = None) -> Browsing:
        """Sign in at the laptop, too."""
        person = await self.person(who)
        ended = await (laptop or self.laptop).run("login", self.url, "--no-browser", goes=person.agree)
        assert ended.code == 0, ended.err
        return person

    async def aged(self, minutes: int) -> None:
        """Let all sign-ins be so much older."""
        async with self.product.database.admin_connection() as admin:
            for table in ("sessions", "grants"):
                await admin.execute(
                    f"UPDATE auth.{table} SET authenticated_at = authenticated_at - $1 * interval '1 minute'", minutes
                )

    async def value(self, sql: str) -> Any:
        async with self.product.database.admin_connection() as admin:
            return await admin.fetchval(sql)


@pytest.fixture
async def app(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[LoginApp]:
    async with (
        product_on(database, tmp_path / "product") as product,
        identity_on(product, providers=False) as identity,
        httpx2.AsyncClient(trust_env=False, timeout=20) as browser,
    ):
        tenant = await product.tenant("acme")
        admin = await create_user(product.console, ACTOR, tenant.id, "ada@acme.test", system_role="admin")
        bob = await product.person(tenant, "bob@acme.test", allow=["*"])
        ada = Person(tenant, admin, "ada@acme.test")
        yield LoginApp(product, identity, tenant, ada, bob, Laptop(tmp_path / "laptop"), browser)


async def test_a_person_signs_in_acts_and_signs_out(app: LoginApp) -> None:
    person = await app.person()
    made = await app.laptop.json("login", app.url + "/mcp/", "--no-browser", goes=person.agree)
    assert made == {"server": app.url, "user": "ada@acme.test", "tenant": "acme", "scopes": ALL}
    asked = parse_qs(urlsplit(person.links[0]).query)
    assert (asked["client_id"], asked["code_challenge_method"]) == (["mcpist-cli"], ["S256"])
    assert "MCPist command line" in person.asked[0]
    who = await app.laptop.json("whoami")
    assert (who["user"], who["tenant"], who["authentication_method"], who["operator"]) == (
        "ada@acme.test",
        "acme",
        "oauth",
        False,
    )
    assert {one["email"] for one in await app.laptop.json("user", "list")} == {"ada@acme.test", "bob@acme.test"}
    assert app.url in (await app.laptop.run("user", "list")).err, "nobody has named the server: it says which it is"
    (file,) = app.laptop.files
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (file, file.with_suffix(".lock"), file.parent)]
    assert modes == [0o600, 0o600, 0o700]
    kept = json.loads(file.read_text())
    assert await app.laptop.json("logout") == {"server": app.url, "revoked": True}
    assert app.laptop.files == []
    api = {"Authorization": f"Bearer {kept['access_token']}"}
    assert (await app.browser.get(app.url + "/api/v1/me", headers=api)).status_code == 401
    assert (await app.laptop.run("logout")).code == 4
    assert not (app.laptop.folder / "home").exists(), "no data folder was made for any of that"


async def test_who_has_agreed_once_is_asked_again(app: LoginApp) -> None:
    """Any program on this machine can pretend to be the command line."""
    person = await app.login()
    again = await app.laptop.run("login", app.url, "--no-browser", goes=person.agree)
    assert again.code == 0
    assert len(person.asked) == 2
    assert await app.value("SELECT count(*) FROM auth.grants WHERE revoked_at IS NULL") == 1, "the first has ended"
    without = person.links[0].replace("prompt=consent", "prompt=none")
    answer = await app.browser.get(without)
    assert "error=consent_required" in answer.headers["location"]


async def test_a_plain_user_gets_no_administration(app: LoginApp) -> None:
    person = await app.person(app.bob)
    made = await app.laptop.json("login", app.url, "--no-browser", goes=person.agree)
    assert (made["user"], made["scopes"]) == ("bob@acme.test", BOTH)
    for command in (("user", "list"), ("role", "create", "boss"), ("client", "list"), ("tenant", "list")):
        refused = await app.laptop.run(*command, "--json")
        assert (refused.code, json.loads(refused.err.splitlines()[-1])["error"]["code"]) == (3, "forbidden")
    assert (await app.laptop.json("audit"))["items"] is not None, "what one did oneself"


async def test_somebody_else_s_tokens_stay_out_of_reach(app: LoginApp) -> None:
    ada = Laptop(app.laptop.folder / "ada")
    await app.login(laptop=ada)
    await app.login(app.bob)
    made = await ada.json("token", "create", "--name", "hers")
    assert (made["user"], made["token"].startswith("mcpist_")) == ("ada@acme.test", True)
    listed = await app.laptop.json("token", "list")
    assert [one["user_email"] for one in listed] == ["bob@acme.test"]
    assert (await app.laptop.run("token", "list", "--user", "ada@acme.test")).code == 3
    assert (await app.laptop.run("token", "revoke", made["id"])).code == 4
    assert (await app.laptop.run("token", "create", "--user", "ada@acme.test")).code == 3
    assert [one["id"] for one in await ada.json("token", "list")] == [made["id"]]
    assert await ada.json("token", "revoke", made["id"]) == {"id": made["id"], "revoked": True}


async def test_an_old_sign_in_makes_no_token(app: LoginApp) -> None:
    """Not even right after a login, if that was made with the browser's old session. A new sign-in does, once asked."""
    await app.login()
    await app.aged(11)
    person = Browsing(app.url, app.browser)
    assert (await app.laptop.run("login", app.url, "--no-browser", goes=person.agree)).code == 0
    link = await app.identity.link(app.ada)
    made = await app.laptop.run("token", "create", "--name", "x", "--json", goes=person.after(link))
    assert made.code == 0, made.err
    assert json.loads(made.out)["user"] == "ada@acme.test"
    assert "max_age=" not in person.links[0]
    assert "max_age=300" in person.links[1]
    lines = made.err.splitlines()
    shown = lines.index(person.links[1])
    assert "sign-in of the last ten minutes, and yours is older" in lines[shown - 2], lines
    assert "at most 5 minutes" in lines[shown + 1], "that it waits, and for how long"
    assert await app.value("SELECT count(*) FROM auth.grants WHERE revoked_at IS NULL") == 1


async def test_the_api_itself_refuses_an_old_sign_in(app: LoginApp) -> None:
    """Whoever holds the tokens; and a refresh makes the sign-in no younger."""
    await app.login()
    await app.aged(11)
    kept = json.loads(app.laptop.files[0].read_text())
    form = {"grant_type": "refresh_token", "client_id": "mcpist-cli", "refresh_token": kept["refresh_token"]}
    async with httpx2.AsyncClient(trust_env=False, base_url=app.url) as thief:
        refreshed = (await thief.post("/oauth/token", data=form)).json()
        for tokens in (kept, refreshed):
            bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
            answer = await thief.post("/api/v1/tokens", json={"name": "x", "scopes": ["mcp:read"]}, headers=bearer)
            assert (answer.status_code, answer.json()["code"]) == (403, "recent_sign_in_required")


async def test_somebody_else_signs_in_meanwhile(app: LoginApp) -> None:
    """The new sign-in that a token needs has to be that of the same person."""
    await app.login()
    await app.aged(11)
    person = Browsing(app.url, app.browser)
    link = await app.identity.link(app.bob)
    refused = await app.laptop.run("token", "create", goes=person.after(link))
    assert refused.code == 3
    assert "bob@acme.test has signed in" in refused.err
    assert (await app.laptop.json("whoami"))["user"] == "ada@acme.test"
    assert await app.value("SELECT count(*) FROM auth.api_tokens WHERE name = 'token'") == 0
    assert await app.value("SELECT count(*) FROM auth.grants WHERE revoked_at IS NULL") == 1


async def test_who_does_not_agree_is_not_signed_in(app: LoginApp) -> None:
    person = await app.person()
    refused = await app.laptop.run("login", app.url, "--no-browser", goes=person.refuse)
    assert (refused.code, refused.out) == (3, "")
    assert "did not agree" in refused.err
    assert app.laptop.files == []


async def test_another_server_s_answer_is_not_used(app: LoginApp) -> None:
    """Mix-up: the code is ours, the issuer in the answer is not; or there is none (RFC 9207 §2.4)."""
    person = await app.person()
    for iss in ("https://evil.example", app.url + "/", None):

        async def goes(link: str, iss: str | None = iss) -> None:
            url, _, query = (await person.way_back(link)).partition("?")
            said = {name: values[0] for name, values in parse_qs(query).items() if name != "iss"}
            await person.back(f"{url}?{urlencode({**said, **({'iss': iss} if iss else {})})}")

        refused = await app.laptop.run("login", app.url, "--no-browser", goes=goes)
        assert refused.code == 3
        assert "another authorization server" in refused.err
        assert app.laptop.files == []
    assert await app.value("SELECT count(*) FROM auth.grants") == 0, "no code of it was redeemed"


async def test_an_answer_with_another_state_is_none(app: LoginApp) -> None:
    """It is refused, and does not end the waiting either: any page could send one."""
    person = await app.person()
    seen: list[int] = []

    async def goes(link: str) -> None:
        right = await person.way_back(link)
        state = parse_qs(urlsplit(right).query)["state"][0]
        wrong = [right.replace(state, "x" * len(state)), right + "&state=y", right.replace("&state=", "&s=")]
        wrong += [right.replace("/callback", "/other"), right + "&x=" + "y" * 9000]
        seen.extend([(await person.back(url)).status_code for url in (*wrong, right)])

    assert (await app.laptop.run("login", app.url, "--no-browser", goes=goes)).code == 0
    assert seen == [400, 400, 400, 404, 400, 200]


async def test_nobody_comes(app: LoginApp) -> None:
    ended = await app.laptop.run("login", app.url, "--no-browser", "--timeout", "1")
    assert ended.code == 7
    assert "Waiting for your sign-in, at most one second" in ended.err
    assert "no sign-in within one second; run the command again" in ended.err
    assert "sign-in of the last ten minutes" not in ended.err


@pytest.mark.parametrize("command", ["{} --new-window %s", "{}", "/no/such/browser:{} &", "'unbalanced:{}"])
async def test_the_browser_that_the_person_has_chosen(app: LoginApp, tmp_path: Path, command: str) -> None:
    """A machine without a display may have one all the same, and it must neither hold up nor use the terminal."""
    script, opened = tmp_path / "browser", tmp_path / "opened"
    script.write_text(
        f'#!/bin/sh\necho noise; printf "%s\\n" "$@" > {opened}.new; mv {opened}.new {opened}; sleep 5 <&0\n'
    )
    script.chmod(0o755)
    chosen = {"BROWSER": command.format(script), "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    laptop, person = Laptop(app.laptop.folder, chosen), await app.person()

    async def goes(link: str) -> None:
        async with asyncio.timeout(20):
            while not opened.exists():
                await asyncio.sleep(0.02)
        assert opened.read_text().splitlines()[-1] == link
        await person.agree(link)

    ended = await laptop.run("login", app.url, goes=goes)
    assert ended.code == 0, ended.err
    assert "in the browser that opens" in ended.err
    assert "noise" not in ended.out + ended.err


async def test_without_a_browser_there_is_the_link(app: LoginApp) -> None:
    nothing = {"BROWSER": "", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    laptop, person = Laptop(app.laptop.folder, nothing), await app.person()
    ended = await laptop.run("login", app.url, goes=person.agree)
    assert (ended.code, "Sign in with this link:" in ended.err) == (0, True)


@pytest.mark.parametrize("mode", [0o640, 0o604])
async def test_a_file_that_others_can_read_is_refused(app: LoginApp, mode: int) -> None:
    await app.login()
    (file,) = app.laptop.files
    file.chmod(mode)
    refused = await app.laptop.run("whoami", "--server", app.url)
    assert refused.code == 2
    assert f"chmod 600 {file}" in refused.err
    file.chmod(0o600)
    file.write_text("{}")
    assert "damaged" in (await app.laptop.run("whoami")).err


async def test_parallel_commands_share_one_refresh(app: LoginApp) -> None:
    """An access token that has ended, and six commands at once: one refreshes, and none is taken for a copy."""
    await app.login()
    (file,) = app.laptop.files
    kept = json.loads(file.read_text())
    file.write_text(json.dumps({**kept, "expires_at": "2020-01-01T00:00:00+00:00"}))
    answers = await asyncio.gather(*(app.laptop.run("whoami", "--json") for _ in range(6)))
    assert [one.code for one in answers] == [0] * 6, [one.err for one in answers]
    states = "SELECT string_agg(state, ' ' ORDER BY created_at) FROM auth.refresh_tokens"
    assert await app.value(states) == "previous live"
    assert json.loads(file.read_text())["refresh_token"] != kept["refresh_token"]


async def test_an_access_that_was_ended_says_what_to_do(app: LoginApp) -> None:
    await app.login()
    async with app.product.database.admin_connection() as admin:
        await admin.execute("UPDATE auth.grants SET revoked_at = now(), cause = 'user'")
    refused = await app.laptop.run("user", "list", "--json")
    assert refused.code == 3
    assert json.loads(refused.err.splitlines()[-1])["error"]["code"] == "unauthenticated"
    assert "mcpist login" in refused.err


async def test_an_api_token_takes_the_place_of_a_login(app: LoginApp) -> None:
    token = (await app.product.with_token(app.ada, scopes=ALL)).token
    script = Laptop(app.laptop.folder, {"MCPIST_SERVER": app.url, "MCPIST_TOKEN": token})
    assert (await script.json("whoami"))["authentication_method"] == "token"
    assert len(await script.json("user", "list")) == 2
    refused = await script.run("token", "create")
    assert refused.code == 3
    assert "no token can do this" in refused.err
    script.more["MCPIST_TOKEN"] = "mcpist_wrong"
    assert (await script.run("whoami")).code == 3


async def test_a_server_that_is_away_is_told_at_logout(tmp_path: Path) -> None:
    laptop, away = Laptop(tmp_path), "http://127.0.0.1:1"
    tokens = LoginTokens(Secret("access"), Secret("refresh"), datetime(2030, 1, 1, tzinfo=UTC), "mcp:read")
    LoginStore(get_config_folder(laptop.environment)).put(Login(away, "1", "ada@acme.test", "acme", tokens))
    assert (await laptop.run("whoami")).code == 7
    ended = await laptop.run("logout", "--json")
    assert (ended.code, json.loads(ended.out)) == (7, {"server": away, "revoked": False})
    assert "/account" in ended.err
    assert laptop.files == []


async def test_two_logins_and_no_data_folder(tmp_path: Path) -> None:
    """Nobody is guessed at."""
    laptop = Laptop(tmp_path)
    logins = LoginStore(get_config_folder(laptop.environment))
    tokens = LoginTokens(Secret("access"), Secret("refresh"), datetime(2030, 1, 1, tzinfo=UTC), "mcp:read")
    for server in ("http://127.0.0.1:1", "http://127.0.0.1:2"):
        logins.put(Login(server, "1", "ada@acme.test", "acme", tokens))
    for command in (("whoami",), ("user", "list"), ("logout",)):
        refused = await laptop.run(*command)
        assert refused.code == 2
        assert "http://127.0.0.1:1, http://127.0.0.1:2" in refused.err
    laptop.folder.joinpath("home", "postgres", "data").mkdir(parents=True)
    here = await laptop.json("whoami")
    assert (here["server"], here["operator"], len(here["signed_in_at"])) == (None, True, 2)


@pytest.mark.parametrize("url", ["mcp.example.com", "ftp://mcp.example.com", "http://mcp.example.com", "https://a/b/c"])
async def test_where_nobody_can_sign_in(tmp_path: Path, url: str) -> None:
    assert (await Laptop(tmp_path).run("login", url, "--no-browser")).code == 2


@contextlib.asynccontextmanager
async def pretender(documents: Mapping[str, Any]) -> AsyncIterator[str]:
    """A server on this machine that publishes these documents; `{url}` in them is its own."""

    async def answer(request: web.Request) -> web.Response:
        text = json.dumps(documents.get(request.path)).replace("{url}", url)
        return web.Response(text=text, content_type="application/json")

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield url
    finally:
        await runner.cleanup()


RESOURCE = {"resource": "{url}/mcp", "authorization_servers": ["{url}"]}
SERVER = {
    "issuer": "{url}",
    "authorization_endpoint": "{url}/oauth/authorize",
    "token_endpoint": "{url}/oauth/token",
    "revocation_endpoint": "{url}/oauth/revoke",
    "authorization_response_iss_parameter_supported": True,
}
LIES = [
    ({**RESOURCE, "resource": "https://mcp.acme.example/mcp"}, SERVER, "calls itself"),
    ({**RESOURCE, "authorization_servers": ["https://login.acme.example"]}, SERVER, "another authorization server"),
    (RESOURCE, {**SERVER, "issuer": "https://login.acme.example"}, "not that of an MCPist"),
    (RESOURCE, {**SERVER, "token_endpoint": "https://evil.example/oauth/token"}, "not that of an MCPist"),
    (RESOURCE, {**SERVER, "token_endpoint": "{url}.evil.example/token"}, "not that of an MCPist"),
    (RESOURCE, {**SERVER, "authorization_response_iss_parameter_supported": False}, "not that of an MCPist"),
    (RESOURCE, None, "not as MCPist does"),
]


@pytest.mark.parametrize(("resource", "server", "told"), LIES, ids=[str(number) for number in range(len(LIES))])
async def test_documents_lead_nowhere_else(tmp_path: Path, resource: Any, server: Any, told: str) -> None:
    documents = {
        "/.well-known/oauth-protected-resource/mcp": resource,
        "/.well-known/oauth-authorization-server": server,
    }
    async with pretender(documents) as url:
        ended = await Laptop(tmp_path).run("login", url, "--no-browser", "--timeout", "1")
    assert ended.code in (2, 7)
    assert told in ended.err
    assert "client_id=" not in ended.err
