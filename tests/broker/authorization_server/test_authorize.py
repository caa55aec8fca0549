"""The authorization endpoint in a browser: who is asked what, where the answer goes, and what nobody can forge."""

import re
from collections.abc import AsyncIterator
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from broker.identity.sign_in_state import sanitize_return_to
from tests.broker.authorization_server.server_app import (
    BOTH,
    CHALLENGE,
    DYNAMIC,
    ISSUER,
    RESOURCE,
    WEB,
    AuthorizationServerApp,
    answer_of,
    fields,
    location,
    server_on,
)
from tests.support.postgres import ScratchDatabase


@pytest.fixture
async def app(database: ScratchDatabase, make_tenant) -> AsyncIterator[AuthorizationServerApp]:
    async with server_on(database, await make_tenant(users=2)) as made:
        yield made


async def test_sign_in_comes_first_and_brings_the_request_back(app: AuthorizationServerApp) -> None:
    response = await app.authorize(surprise="dropped", prompt="consent")
    assert response.status_code == 303
    target = urlsplit(location(response))
    assert (target.path, target.netloc) == ("/sign-in", "")
    came_back = parse_qs(target.query)["next"][0]
    assert came_back.startswith("/oauth/authorize?")
    assert "surprise" not in came_back
    assert "prompt=consent" in came_back
    await app.sign_in()
    page = await app.http.get(came_back, headers={"Cookie": f"__Host-mcpist-session={app.secret.reveal()}"})  # type: ignore[union-attr]
    assert fields(page)["request"] == came_back.partition("?")[2]


async def test_the_longest_request_comes_back_too(app: AuthorizationServerApp) -> None:
    """What the sign-in would not carry is refused before it."""
    states = ["é" * number for number in range(1100, 1400, 7)]
    here = "http://127.0.0.1/callback"
    answers = [await app.authorize(state=state, redirect_uri=here) for state in states]
    assert {answer.status_code for answer in answers} == {302, 303}
    for answer in answers:
        if answer.status_code == 303:
            came_back = parse_qs(urlsplit(location(answer)).query)["next"][0]
            assert sanitize_return_to(came_back) == came_back


async def test_consent_then_code(app: AuthorizationServerApp) -> None:
    await app.sign_in()
    page = await app.authorize()
    assert page.status_code == 200
    for told in ("Agent", "agent.example", "user0@"):
        assert told in page.text
    assert page.headers["cache-control"] == "no-store"
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    response = await app.press(page)
    assert location(response).startswith(WEB.redirect_uris[0] + "?")
    answer = answer_of(response)
    assert (answer["state"], answer["iss"]) == ("s 1/2+3&é", ISSUER)
    tokens = (await app.redeem(answer["code"])).json()
    assert (tokens["token_type"], tokens["expires_in"], tokens["scope"]) == ("Bearer", 600, BOTH)
    (event,) = await app.events("consent.given")
    assert event.user_id == app.user


async def test_consent_is_asked_for_once(app: AuthorizationServerApp) -> None:
    await app.sign_in()
    await app.press(await app.authorize())
    again = await app.authorize()
    assert again.status_code == 302
    assert set(answer_of(again)) == {"code", "state", "iss"}
    app.clock.go(days=400)
    await app.sign_in()
    assert (await app.authorize()).status_code == 302
    assert (await app.authorize(scope="mcp:read")).status_code == 302


@pytest.mark.parametrize(
    "changes",
    [
        {"prompt": "consent"},
        {"redirect_uri": "http://127.0.0.1:4000/callback"},
        {"client_id": DYNAMIC.id, "redirect_uri": DYNAMIC.redirect_uris[0]},
    ],
    ids=str,
)
async def test_consent_is_for_one_client_and_one_redirect_uri(
    app: AuthorizationServerApp, changes: dict[str, str]
) -> None:
    await app.sign_in()
    await app.press(await app.authorize())
    assert (await app.authorize(**changes)).status_code == 200


async def test_consent_is_for_one_person_and_these_scopes(app: AuthorizationServerApp) -> None:
    await app.sign_in()
    await app.press(await app.authorize(scope="mcp:read"))
    assert (await app.authorize(scope="mcp:read")).status_code == 302
    assert (await app.authorize(scope="mcp:write")).status_code == 200
    await app.sign_in(1)
    assert (await app.authorize(scope="mcp:read")).status_code == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"redirect_uri": "http://127.0.0.1:{port}/callback"},
        {"client_id": DYNAMIC.id, "redirect_uri": DYNAMIC.redirect_uris[0]},
    ],
    ids=["loopback", "dynamic"],
)
async def test_whoever_could_be_anyone_is_confirmed_every_thirty_days(
    app: AuthorizationServerApp, changes: dict[str, str]
) -> None:
    """Another loopback port is the same program for that."""

    async def asked(port: int) -> int:
        filled = {name: value.replace("{port}", str(port)) for name, value in changes.items()}
        page = await app.authorize(**filled)
        if page.status_code == 200:
            await app.press(page)
        return page.status_code

    await app.sign_in()
    assert [await asked(4000), await asked(4001)] == [200, 302]
    app.clock.go(days=30)
    await app.sign_in()
    assert await asked(4002) == 200


async def test_warnings(app: AuthorizationServerApp) -> None:
    await app.sign_in()
    stranger = (await app.authorize(client_id=DYNAMIC.id, redirect_uri=DYNAMIC.redirect_uris[0])).text
    assert "Nobody has verified this application" in stranger
    local = await app.authorize(redirect_uri="http://127.0.0.1:4000/callback")
    assert "back to a program on this computer" in local.text
    assert "You have not used this application here before" in local.text
    await app.press(local)
    assert "You have not used this application here before" not in (await app.authorize()).text


async def test_no_is_no(app: AuthorizationServerApp) -> None:
    await app.sign_in()
    for decision in ("deny", "", "ALLOW"):
        answer = answer_of(await app.press(await app.authorize(), decision))
        assert (answer["error"], answer["iss"], answer["state"]) == ("access_denied", ISSUER, "s 1/2+3&é")
    assert await app.value("SELECT count(*) FROM auth.codes") == 0
    assert (await app.authorize()).status_code == 200


LOCAL: list[dict[str, str | None]] = [
    {"client_id": None},
    {"client_id": "https://nobody.example/client.json"},
    {"client_id": "x" * 2001},
    {"redirect_uri": None},
    {"redirect_uri": "https://evil.example/callback"},
    {"redirect_uri": WEB.redirect_uris[0] + "/../callback"},
    {"redirect_uri": "https://agent.example/callback?more"},
    {"redirect_uri": "javascript:alert(1)"},
    {"redirect_uri": "//evil.example"},
    {"state": "s" * 2001},
]


async def test_nobody_but_the_person_hears_of_what_cannot_be_trusted(app: AuthorizationServerApp) -> None:
    await app.sign_in()
    for changes in LOCAL:
        response = await app.authorize(**changes)
        assert response.status_code == 400, changes
        assert "location" not in response.headers, changes
        assert "refresh" not in response.text, changes


REFUSED_URIS = [
    ("https://evil.example/callback", "https://evil.example/callback"),
    ("cursor://other/cb", "cursor://other/cb"),
    ("javascript:alert(1)", "javascript:alert(1)"),
    ("https://evil.example/<script>alert(1)</script>", "https://evil.example/&lt;script&gt;alert(1)&lt;/script&gt;"),
    ('https://evil.example/"><a href=x>', "https://evil.example/&#34;&gt;&lt;a href=x&gt;"),
    ("https://evil.example/\u202eabc\x00", "https://evil.example/abc"),
    ("https://evil.example/" + "x" * 1900, "https://evil.example/" + "x" * 98 + "…"),
]


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize(("asked", "shown"), REFUSED_URIS)
async def test_the_page_names_the_refused_redirect_uri(
    app: AuthorizationServerApp, language: str, asked: str, shown: str
) -> None:
    """As text that can be read and compared, never as a link."""
    app.http.headers["Accept-Language"] = language
    for client_id in (WEB.id, DYNAMIC.id, (await app.client())[0].id):
        page = await app.authorize(client_id=client_id, redirect_uri=asked)
        assert page.status_code == 400
        assert f"<code><bdi>{shown}</bdi></code>" in page.text
        assert "mcpist client add NAME --redirect-uri" in page.text
        assert re.findall(r'(?:href|src|action|content)="(?!data:|[/#])[^"]*evil', page.text) == []
        assert set(re.findall(r'<a [^>]*href="([^"]*)"', page.text)) <= {"#content", "/account"}
    missing = await app.authorize(redirect_uri=None)
    assert (missing.status_code, "redirect URI" in missing.text or "リダイレクト URI" in missing.text) == (400, True)
    assert "<code><bdi>" not in missing.text


async def test_a_parameter_twice(app: AuthorizationServerApp) -> None:
    await app.sign_in()
    query = f"client_id={WEB.id}&redirect_uri={WEB.redirect_uris[0]}&redirect_uri=https://evil.example/"
    response = await app.authorize(query)
    assert (response.status_code, "location" in response.headers) == (400, False)


FOR_THE_CLIENT: list[tuple[dict[str, str | None], str]] = [
    ({"response_type": "token"}, "unsupported_response_type"),
    ({"response_type": None}, "invalid_request"),
    ({"response_mode": "fragment"}, "invalid_request"),
    ({"code_challenge": None}, "invalid_request"),
    ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
    ({"code_challenge_method": "plain"}, "invalid_request"),
    ({"code_challenge_method": None}, "invalid_request"),
    ({"code_challenge": CHALLENGE + "="}, "invalid_request"),
    ({"code_challenge": "short"}, "invalid_request"),
    ({"scope": "mcp:everything"}, "invalid_scope"),
    ({"scope": "openid"}, "invalid_scope"),
    ({"scope": "mcp:read  mcp:write"}, "invalid_scope"),
    ({"scope": "admin:read"}, "invalid_scope"),
    ({"resource": "https://other.example/mcp"}, "invalid_target"),
    ({"resource": RESOURCE + "/"}, "invalid_target"),
    ({"resource": RESOURCE + "#x"}, "invalid_target"),
    ({"resource": RESOURCE + "/plain/../admin"}, "invalid_target"),
    ({"resource": RESOURCE + ".evil.example/plain"}, "invalid_target"),
    ({"resource": ISSUER}, "invalid_target"),
    ({"request": "e30.e30."}, "request_not_supported"),
    ({"request_uri": "https://agent.example/r"}, "request_uri_not_supported"),
    ({"prompt": "none login"}, "invalid_request"),
    ({"max_age": "-1"}, "invalid_request"),
    ({"max_age": "5 minutes"}, "invalid_request"),
    ({"max_age": "1" * 13}, "invalid_request"),
    ({"state": "é" * 1900}, "invalid_request"),
]


async def test_what_is_wrong_goes_to_the_client(app: AuthorizationServerApp) -> None:
    """Before anybody signs in, with the state as it came, and with `iss`."""
    client, _ = await app.client()
    for changes, error in FOR_THE_CLIENT:
        response = await app.authorize(client_id=client.id, redirect_uri=client.redirect_uris[0], **changes)
        assert response.status_code == 302, changes
        assert location(response).startswith(client.redirect_uris[0] + "?")
        answer = answer_of(response)
        assert (answer["error"], answer["iss"]) == (error, ISSUER), changes
        assert answer["state"] == changes.get("state", "s 1/2+3&é")


STRANGERS = [
    {"client_id": WEB.id, "redirect_uri": WEB.redirect_uris[0]},
    {"client_id": DYNAMIC.id, "redirect_uri": DYNAMIC.redirect_uris[0]},
]


@pytest.mark.parametrize("stranger", STRANGERS, ids=["document", "registered itself"])
async def test_nonsense_leads_to_no_stranger_s_site(app: AuthorizationServerApp, stranger: dict[str, str]) -> None:
    """Anybody can be a client; our name in a link must not lend itself to theirs (RFC 9700 §4.11.2)."""
    for signed_in in (False, True):
        if signed_in:
            await app.sign_in()
        for changes, _ in [*FOR_THE_CLIENT, ({"prompt": "none"}, "")]:
            response = await app.authorize(**stranger, **changes)
            assert response.status_code == 400, changes
            assert "location" not in response.headers, changes
            assert "http-equiv" not in response.text, changes
    await app.press(await app.authorize(**stranger))
    assert answer_of(await app.authorize(**stranger, scope="nothing"))["error"] == "invalid_scope", "known by now"
    await app.sign_in(1)
    assert (await app.authorize(**stranger, scope="nothing")).status_code == 400, "but to nobody else"


async def test_a_program_on_the_person_s_machine_hears_what_is_wrong(app: AuthorizationServerApp) -> None:
    answer = answer_of(await app.authorize(redirect_uri="http://127.0.0.1:1234/callback", scope="nothing"))
    assert answer["error"] == "invalid_scope"


@pytest.mark.parametrize("resource", [None, "", "HTTPS://MCP.Example.COM/mcp"])
async def test_our_resource_is_the_default_and_known_in_any_case(
    app: AuthorizationServerApp, resource: str | None
) -> None:
    await app.sign_in()
    await app.redeem(await app.code(resource=resource), {"resource": resource})
    assert await app.value("SELECT resource FROM auth.grants") == RESOURCE


@pytest.mark.parametrize("scope", [None, "", "offline_access", "mcp:read mcp:write offline_access"])
async def test_reading_and_writing_is_the_default(app: AuthorizationServerApp, scope: str | None) -> None:
    await app.sign_in()
    assert (await app.redeem(await app.code(scope=scope))).json()["scope"] == BOTH


async def test_administration_is_for_administrators_by_clients_that_may(app: AuthorizationServerApp) -> None:
    client, _ = await app.client(scopes=frozenset({"mcp:read", "admin:read"}))
    ours: dict[str, str | None] = {"client_id": client.id, "redirect_uri": client.redirect_uris[0]}
    await app.sign_in()
    assert answer_of(await app.authorize(**ours, scope="admin:read"))["error"] == "invalid_scope"
    page = await app.authorize(**ours, scope="mcp:read admin:read")
    assert "administration" not in page.text
    await app.execute("UPDATE core.users SET system_role = 'admin'")
    # What was not shown is not granted, even if it could be by now.
    narrowed = await app.redeem(answer_of(await app.press(page))["code"], ours)
    assert narrowed.json()["scope"] == "mcp:read"
    full = await app.redeem(await app.code(**ours, scope="mcp:read admin:read"), ours)
    assert full.json()["scope"] == "admin:read mcp:read"
    here = "http://127.0.0.1/callback"
    assert answer_of(await app.authorize(scope="admin:read", redirect_uri=here))["error"] == "invalid_scope"


@pytest.mark.guarantee("G9")
async def test_a_client_of_another_tenant_does_not_exist(app: AuthorizationServerApp, make_tenant) -> None:
    client, _ = await app.client()
    other = await make_tenant()
    app.secret = await app.sessions.begin(other.id, other.users[0], "link")
    response = await app.authorize(client_id=client.id, redirect_uri=client.redirect_uris[0])
    made_up = await app.authorize(client_id="nobody-knows", redirect_uri=client.redirect_uris[0])
    assert (response.status_code, made_up.status_code) == (400, 400)
    assert {line for line in response.text.splitlines() if "nonce" not in line} == {
        line for line in made_up.text.splitlines() if "nonce" not in line
    }


async def test_silence_where_a_client_asks_for_it(app: AuthorizationServerApp) -> None:
    client, _ = await app.client()
    ours: dict[str, str | None] = {"client_id": client.id, "redirect_uri": client.redirect_uris[0]}
    assert answer_of(await app.authorize(**ours, prompt="none"))["error"] == "login_required"
    await app.sign_in()
    assert answer_of(await app.authorize(**ours, prompt="none"))["error"] == "consent_required"
    await app.press(await app.authorize(**ours))
    assert "code" in answer_of(await app.authorize(**ours, prompt="none"))


def stale_sign_ins() -> list[tuple[dict[str, str], bool]]:
    """What a client asks for five minutes after the sign-in, and whether that sign-in will do."""
    return [
        ({"prompt": "login"}, False),
        ({"prompt": "login consent"}, False),
        ({"max_age": "0"}, False),
        ({"max_age": "299"}, False),
        ({"max_age": "301"}, True),
        ({"max_age": "301", "prompt": "login"}, False),
        ({"max_age": "999999999999"}, True),
        ({"signed_in_since": "1"}, True),
        ({"signed_in_since": "1", "max_age": "299"}, False),
        ({"signed_in_since": "999999999999"}, False),
    ]


@pytest.mark.parametrize(("asked", "will_do"), stale_sign_ins(), ids=str)
async def test_a_client_can_ask_for_a_new_sign_in(
    app: AuthorizationServerApp, asked: dict[str, str], will_do: bool
) -> None:
    await app.sign_in()
    await app.press(await app.authorize())
    app.clock.go(minutes=5)
    response = await app.authorize(**asked)
    if will_do:
        assert response.status_code == 302
        return
    assert response.status_code == 303
    sign_in = urlsplit(location(response))
    assert (sign_in.path, parse_qs(sign_in.query)["notice"]) == ("/sign-in", ["recent"])
    back = parse_qs(sign_in.query)["next"][0]
    assert back == sanitize_return_to(back)
    assert "signed_in_since=" in back
    app.clock.go(minutes=2)  # which the person needs to sign in
    assert (await app.authorize(back.partition("?")[2])).status_code == 303
    await app.sign_in()
    app.clock.go(minutes=2)
    answer = await app.authorize(back.partition("?")[2])
    assert answer.status_code == (200 if "consent" in asked.get("prompt", "") else 302)


async def test_a_page_of_consent_that_lay_open_too_long_leads_to_a_new_sign_in(app: AuthorizationServerApp) -> None:
    await app.sign_in()
    page = await app.authorize(max_age="300")
    await app.sign_in(1)
    assert (await app.press(page)).status_code == 403
    await app.sign_in()
    page = await app.authorize(max_age="300")
    assert "code" in answer_of(await app.press(page))
    assert answer_of(await app.authorize(prompt="none", max_age="300"))["code"]
    app.clock.go(minutes=6)
    assert answer_of(await app.authorize(prompt="none", max_age="300"))["error"] == "login_required"


async def test_a_grant_knows_when_its_person_had_signed_in(app: AuthorizationServerApp) -> None:
    """By the session, not by the consent, the code or the last refresh."""
    await app.sign_in()
    signed_in = app.clock()
    await app.press(await app.authorize())
    app.clock.go(minutes=25)
    tokens = (await app.redeem(await app.code())).json()
    assert await app.value("SELECT authenticated_at FROM auth.grants") == signed_in
    app.clock.go(minutes=2)
    await app.refresh(tokens["refresh_token"])
    assert await app.value("SELECT authenticated_at FROM auth.grants") == signed_in


async def test_administration_is_never_granted_in_silence_to_what_runs_on_the_same_machine(
    app: AuthorizationServerApp,
) -> None:
    scopes = frozenset({"mcp:read", "admin:read"})
    here, _ = await app.client(redirect_uris=("http://127.0.0.1/callback",), scopes=scopes)
    await app.execute("UPDATE core.users SET system_role = 'admin'")
    ours: dict[str, str | None] = {"client_id": here.id, "redirect_uri": "http://127.0.0.1:4000/callback"}
    await app.sign_in()
    for scope, again in (("mcp:read admin:read", 200), ("mcp:read", 302)):
        await app.press(await app.authorize(**ours, scope=scope))
        assert (await app.authorize(**ours, scope=scope)).status_code == again


async def test_no_redirect_follows_a_form_of_ours(app: AuthorizationServerApp) -> None:
    """Chromium would hold it against the `form-action` of the page that signed the person in."""
    await app.sign_in()
    await app.press(await app.authorize())
    for scope, expected in ((None, "code"), ("nothing", "error")):
        page = await app.authorize(site="same-origin", scope=scope)
        assert page.status_code == 200
        assert expected in answer_of(page)


async def test_a_form_is_for_one_session_and_one_request(app: AuthorizationServerApp) -> None:
    """An attacker's own page of consent is of no use in the victim's browser, nor a changed one in its own."""
    await app.sign_in(1)
    attackers = await app.authorize()
    await app.sign_in()
    assert (await app.press(attackers)).status_code == 403
    page = await app.authorize(scope="mcp:read")
    wider = fields(await app.authorize())["request"]
    elsewhere = fields(await app.authorize(redirect_uri="http://127.0.0.1:1/callback"))["request"]
    for changes in ({"request": wider}, {"request": elsewhere}, {"form_token": ""}, {"form_token": "é"}):
        assert (await app.press(page, **changes)).status_code == 403
    evil = fields(page)["request"].replace("agent.example%2Fcallback", "evil.example%2Fcallback")
    assert evil != fields(page)["request"]
    assert (await app.press(page, request=evil)).status_code == 400
    assert await app.value("SELECT count(*) FROM auth.codes") == 0
    assert await app.value("SELECT count(*) FROM auth.consents") == 0
    assert "code" in answer_of(await app.press(page))


@pytest.mark.parametrize("origin", [{}, {"Origin": "https://evil.example"}, {"Origin": "null"}], ids=str)
async def test_another_site_cannot_press_the_button(app: AuthorizationServerApp, origin: dict[str, str]) -> None:
    await app.sign_in()
    form = {**fields(await app.authorize()), "decision": "allow"}
    cookies = {"Cookie": f"__Host-mcpist-session={app.secret.reveal()}"}  # type: ignore[union-attr]
    response = await app.http.post("/oauth/authorize", data=form, headers={**cookies, **origin})
    assert response.status_code == 403
    assert await app.value("SELECT count(*) FROM auth.consents") == 0


async def test_a_session_that_ended_meanwhile_signs_in_again(app: AuthorizationServerApp) -> None:
    await app.sign_in()
    page = await app.authorize()
    app.clock.go(hours=1)
    response = await app.press(page)
    assert response.status_code == 303
    assert unquote(location(response)).startswith("/sign-in?next=/oauth/authorize?")


async def test_a_client_that_is_gone_meanwhile(app: AuthorizationServerApp) -> None:
    client, _ = await app.client()
    await app.sign_in()
    page = await app.authorize(client_id=client.id, redirect_uri=client.redirect_uris[0])
    await app.execute("DELETE FROM auth.clients")
    assert (await app.press(page)).status_code == 400


async def test_whoever_guesses_has_to_wait(app: AuthorizationServerApp) -> None:
    for _ in range(20):
        assert (await app.authorize(client_id="guessed-id")).status_code == 400
    assert (await app.authorize()).status_code == 429
    app.clock.go(minutes=1)
    assert (await app.authorize()).status_code == 303


async def test_one_person_s_codes_are_counted(app: AuthorizationServerApp) -> None:
    """A client that was allowed once gets codes by redirects alone."""
    await app.sign_in()
    await app.press(await app.authorize())
    for _ in range(59):
        assert "code" in answer_of(await app.authorize())
    assert (await app.authorize()).status_code == 429
    assert await app.value("SELECT count(*) FROM auth.codes") == 60
    await app.sign_in(1)
    assert "code" in answer_of(await app.press(await app.authorize()))
    app.clock.go(minutes=1)
    await app.sign_in()
    assert "code" in answer_of(await app.authorize())


async def test_another_header_each_time_is_no_other_address(app: AuthorizationServerApp) -> None:
    """Nobody vouches for a header that anybody can send (threat-model.md §2, row 43)."""
    query = "/oauth/authorize?client_id=guessed-id"
    for n in range(20):
        headers = {
            "X-Forwarded-For": f"203.0.113.{n}",
            "Forwarded": f"for=203.0.113.{n}",
            "X-Real-IP": f"203.0.113.{n}",
        }
        assert (await app.http.get(query, headers=headers)).status_code == 400
    assert (await app.http.get(query, headers={"X-Forwarded-For": "203.0.113.99"})).status_code == 429


@pytest.mark.parametrize("state", ["", "a" * 2000, "%2526+%20&=#?/\\\"'<>", "日本語", "\r\nSet-Cookie: x=y"])
async def test_state_comes_back_as_it_went(app: AuthorizationServerApp, state: str) -> None:
    await app.sign_in()
    response = await app.press(await app.authorize(state=state), "deny")
    assert answer_of(response).get("state", "") == state
    assert "x=y" not in str(response.headers)
