"""Answers that do not belong to whoever brings them (threat-model.md §2, rows 3 to 8, 10, 14, 25 and 36): nothing is
stored, and the vendor is not even asked."""

import asyncio
from datetime import timedelta

import httpx2
import pytest

from core.directory.services import set_service
from tests.broker.connect.connect_app import Browser, ConnectApp, changed, parameters, provider_document, shown
from tests.support.directory import revoke, unassign_role
from tests.support.product import ACTOR, Person

UNKNOWN = "This connection was not started in this browser"
ISSUER = "The answer did not come from the expected server"


async def refused(app: ConnectApp, answer: httpx2.Response, title: str = UNKNOWN) -> None:
    """The page of a refusal, and no trace of anything else."""
    assert answer.status_code == 403, answer.text
    assert title in shown(answer)
    assert "location" not in answer.headers
    await app.nothing_stored()
    assert await app.asked_for_tokens() == 0


async def arrived(browser: Browser) -> str:
    """An answer of the vendor, on its way to us."""
    return await browser.consent(await browser.start())


async def test_a_browser_without_a_session(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    async with app.browser(ada) as browser, app.browser() as elsewhere:
        await refused(app, await elsewhere.get(await arrived(browser)))


@pytest.mark.guarantee("G11")
async def test_another_person_s_browser(app: ConnectApp) -> None:
    ada, bob = await app.person("ada@acme.test"), await app.person("bob@acme.test")
    async with app.browser(ada) as browser, app.browser(bob) as other:
        back = await arrived(browser)
        await refused(app, await other.get(back))
        assert "Shop is connected" in shown(await browser.get(back))  # and it was not used up by that


async def test_a_person_of_another_tenant(app: ConnectApp) -> None:
    ada, eve = await app.person("ada@acme.test"), await app.person("ada@acme.test", "globex")
    async with app.browser(ada) as browser, app.browser(eve) as other:
        back = await arrived(browser)
        await refused(app, await other.get(back))
        answer = await other.get(changed(back, state="x" * 43))
        assert shown(answer) == shown(await other.get(back))


@pytest.mark.guarantee("G11")
async def test_another_browser_of_the_same_person(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    async with app.browser(ada) as browser, app.browser(ada) as other:
        await refused(app, await other.get(await arrived(browser)))


async def test_somebody_else_signs_in_meanwhile(app: ConnectApp) -> None:
    ada, bob = await app.person("ada@acme.test"), await app.person("bob@acme.test")
    async with app.browser(ada) as browser:
        back = await arrived(browser)
        browser.sign_out()
        await refused(app, await browser.get(back))
        await browser.sign_in(app.identity, bob)
        await refused(app, await browser.get(back))


async def test_a_session_that_was_ended_meanwhile(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    async with app.browser(ada) as browser:
        back = await arrived(browser)
        await browser.follow("/sign-out")
        await refused(app, await browser.get(back))


async def test_too_late(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    async with app.browser(ada) as browser:
        back = await arrived(browser)
        app.product.clock.ahead += timedelta(minutes=11)
        await refused(app, await browser.get(back))


@pytest.mark.parametrize("lost", ["role", "permission", "service"])
async def test_what_was_taken_away_meanwhile_is_not_connected(app: ConnectApp, lost: str) -> None:
    """Ten minutes are long: what the person may do is looked at again before the code is shown to anybody."""
    ada, eve = await app.person("ada@acme.test"), await app.person("ada@acme.test", "globex")
    async with app.browser(ada) as browser, app.browser(eve) as other:
        back, unharmed = await arrived(browser), await arrived(other)
        await taken_away(app, ada, lost)
        await refused(app, await browser.get(back))
        assert "Shop is connected" in shown(await other.get(unharmed)), "the same names in another tenant"


async def taken_away(app: ConnectApp, person: Person, lost: str) -> None:
    """Let the service of the shop not exist for them any more."""
    console, tenant = app.product.console, person.tenant.id
    if lost == "role":
        await unassign_role(console, ACTOR, tenant, person.email, person.email)
    elif lost == "permission":
        await revoke(console, ACTOR, tenant, person.email, "shop.*")
    else:
        await set_service(console, ACTOR, tenant, "shop", enabled=False)


@pytest.mark.parametrize("state", ["", "x" * 43, "x" * 5000, "%00", "0" * 42 + "é"])
async def test_a_made_up_state(app: ConnectApp, state: str) -> None:
    ada = await app.person("ada@acme.test")
    async with app.browser(ada) as browser:
        await refused(app, await browser.get(changed(await arrived(browser), state=state)))


async def test_a_state_works_once(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    async with app.browser(ada) as browser:
        back = await arrived(browser)
        assert "Shop is connected" in shown(await browser.get(back))
        before = await app.accounts()
        again = await browser.get(back)
        assert again.status_code == 403
        assert UNKNOWN in shown(again)
        assert await app.accounts() == before
        assert await app.asked_for_tokens() == 1


@pytest.mark.guarantee("G14")
async def test_twenty_at_once_get_one(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    async with app.browser(ada) as browser:
        back = await arrived(browser)
        answers = await asyncio.gather(*(browser.http.get(back) for _ in range(20)))
        assert sorted(one.status_code for one in answers) == [303] + [403] * 19
        assert len(await app.accounts()) == 1
        assert await app.asked_for_tokens() == 1


async def test_the_answer_of_another_provider(app: ConnectApp) -> None:
    """Mix-up: `other` is the attacker's, and wants its answer, or the code of the honest one, to count elsewhere."""
    ada = await app.person("ada@acme.test", allow=["shop.*", "stall.*"])
    async with app.browser(ada) as browser:
        honest = await arrived(browser)
        evil = await browser.consent(await browser.start("stall", "other"))
        code, state = parameters(evil)["code"], parameters(honest)["state"]
        # the other's code to the flow of the honest vendor, by the other's own name
        await refused(app, await browser.get(changed(honest, code=code, iss=parameters(evil)["iss"])), ISSUER)
        # the honest vendor's answer at the other's address, where its code would be shown to the other
        elsewhere = honest.replace("/callback/vendor", "/callback/other")
        await refused(app, await browser.get(elsewhere))
        await refused(app, await browser.get(changed(evil, state=state)))
        await refused(app, await browser.get(honest.replace("/callback/vendor", "/callback/made_up")))
        assert "Shop is connected" in shown(await browser.get(honest))


@pytest.mark.parametrize("issuer", [None, "", "https://evil.test", "SLASH", "UPPER"])
async def test_an_answer_that_does_not_name_its_issuer(app: ConnectApp, issuer: str | None) -> None:
    ada = await app.person("ada@acme.test")
    true = app.vendor.issuer
    issuer = {"SLASH": true + "/", "UPPER": true.upper()}.get(issuer or "", issuer)
    async with app.browser(ada) as browser:
        back = await arrived(browser)
        await refused(app, await browser.get(changed(back, iss=issuer)), ISSUER)
        # on errors too, whose words are not shown
        error = changed(back, iss=issuer, code=None, error="access_denied", error_description="call 0800-EVIL")
        answer = await browser.get(error)
        await refused(app, answer, ISSUER)
        assert "EVIL" not in answer.text
        assert "Shop is connected" in shown(await browser.get(back))


async def test_an_issuer_is_compared_where_none_is_required_too(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    document = provider_document(app.vendor, oauth={"issuer_required": False})
    await app.provider(await app.tenant(), "vendor", document)
    async with app.browser(ada) as browser:
        back = await arrived(browser)
        await refused(app, await browser.get(changed(back, iss="https://evil.test")), ISSUER)
        assert "Shop is connected" in shown(await browser.get(changed(back, iss=None)))


async def test_words_of_an_error_are_never_shown(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    async with app.browser(ada) as browser:
        back = await arrived(browser)
        error = changed(
            back, code=None, error="<b>call</b>", error_description="0800-EVIL", error_uri="https://evil.test"
        )
        answer = await browser.get(error)
        assert "refuses the request" in shown(answer)
        assert "EVIL" not in answer.text
        assert "evil.test" not in answer.text
    await app.nothing_stored()


async def test_a_code_of_another_flow(app: ConnectApp) -> None:
    """Code injection: PKCE ties the code to its own flow, at the vendor."""
    ada, bob = await app.person("ada@acme.test"), await app.person("bob@acme.test")
    async with app.browser(ada) as browser, app.browser(bob) as other:
        stolen = parameters(await arrived(browser))["code"]
        answer = await other.get(changed(await arrived(other), code=stolen))
        assert answer.status_code == 403
        assert "Vendor did not confirm the connection" in shown(answer)
    await app.nothing_stored()


async def test_a_verifier_that_was_changed_in_the_database(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    async with app.browser(ada) as browser:
        back = await arrived(browser)
        await browser.start()
        await app.execute(
            """UPDATE vault.connect_flows f SET pkce = o.pkce FROM vault.connect_flows o
            WHERE f.id <> o.id AND f.tenant_id = o.tenant_id"""
        )
        assert (await browser.get(back)).status_code == 500
    await app.nothing_stored()
    assert await app.asked_for_tokens() == 0


@pytest.mark.guarantee("G11")
async def test_a_question_is_for_who_began(app: ConnectApp) -> None:
    ada, bob = await app.person("ada@acme.test"), await app.person("bob@acme.test")
    eve = await app.person("eve@globex.test", "globex")
    async with app.browser(ada) as browser:
        await app.vendor.sign_in_as("first", email="first@vendor.test")
        await browser.connect()
        browser.leave_vendors()
        await app.vendor.sign_in_as("second", email="second@vendor.test")
        page = await browser.connect()
        question = str(page.url)
        assert "Another account" in shown(page)
        before = await app.accounts()
        for who in (bob, eve, ada):  # ada in another browser of hers
            async with app.browser(who) as other:
                assert (await other.get(question)).status_code == 404
                for decision in ("connect", "keep"):
                    assert (await other.post(question, decision=decision)).status_code == 404
        assert await app.accounts() == before
        app.product.clock.ahead += timedelta(minutes=11)
        assert (await browser.post(question, decision="connect")).status_code == 404


@pytest.mark.parametrize("lost", ["role", "permission", "service"])
async def test_a_question_is_not_for_who_may_not_connect_any_more(app: ConnectApp, lost: str) -> None:
    ada = await app.person("ada@acme.test")
    async with app.browser(ada) as browser:
        await app.vendor.sign_in_as("first", email="first@vendor.test")
        await browser.connect()
        browser.leave_vendors()
        await app.vendor.sign_in_as("second", email="second@vendor.test")
        page = await browser.connect()
        assert "Another account" in shown(page)
        before = await app.accounts()
        await taken_away(app, ada, lost)
        assert (await browser.get(str(page.url))).status_code == 404
        assert (await browser.post(str(page.url), decision="connect")).status_code == 404
        assert await app.accounts() == before
        assert (await browser.post(str(page.url), decision="keep")).status_code == 303, "to decline needs no right"
        assert [one["id"] for one in await app.accounts()] == [before[0]["id"]]


@pytest.mark.guarantee("G14")
async def test_two_answers_to_one_question(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    async with app.browser(ada) as browser:
        await app.vendor.sign_in_as("first", email="first@vendor.test")
        await browser.connect()
        browser.leave_vendors()
        await app.vendor.sign_in_as("second", email="second@vendor.test")
        question = str((await browser.connect()).url)
        answers = await asyncio.gather(*(browser.post(question, decision="connect") for _ in range(5)))
        assert sorted(one.status_code for one in answers) == [303] + [404] * 4
        assert len(await app.accounts()) == 1


@pytest.mark.guarantee("G11")
async def test_a_link_carries_no_authority(app: ConnectApp) -> None:
    """Whoever opens the link of a tool call connects an account of their own, and nobody's else."""
    ada, bob = await app.person("ada@acme.test"), await app.person("bob@acme.test")
    async with app.browser(bob) as browser:
        assert "For bob@acme.test" in shown(await browser.get("/connect/shop"))
        await browser.connect()
    (account,) = await app.accounts()
    assert account["user_id"] == bob.id
    async with app.browser(ada) as browser:
        assert "Not connected" in shown(await browser.get("/connect"))


@pytest.mark.parametrize("origin", [None, "null", "https://evil.test"])
async def test_forms_of_other_sites(app: ConnectApp, origin: str | None) -> None:
    ada = await app.person("ada@acme.test")
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "cross-site"}
    headers |= {"Origin": origin} if origin else {}
    async with app.browser(ada) as browser:
        await browser.connect()
        for path in ("/connect/shop", "/connect/shop/key", "/connect/shop/disconnect", "/connect/-/all"):
            answer = await browser.http.post(app.url + path, content="provider=vendor", headers=headers)
            assert answer.status_code == 403, path
    assert len(await app.accounts()) == 1


async def test_no_answer_goes_anywhere_else(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    hostile = {"then": "//evil.test,https://evil.test", "of": "3", "next": "https://evil.test"}
    async with app.browser(ada) as browser:
        page = await browser.connect(**hostile)
        assert str(page.url).startswith(f"{app.url}/connect/shop")
        assert "evil" not in page.text
        page = await browser.get("/connect/shop?then=//evil.test&of=2&done=<b>&after=javascript:x")
        assert "evil" not in page.text
        assert "javascript" not in page.text


@pytest.mark.guarantee("G12")
async def test_a_provider_inside_our_network_is_never_asked(app: ConnectApp) -> None:
    """An administrator's own provider document is no way into the network."""
    ada = await app.person("ada@acme.test")
    async with app.browser(ada) as browser:
        back = await arrived(browser)
        async with asyncio.timeout(20):
            reached: list[object] = []
            server = await asyncio.start_server(lambda *streams: reached.append(streams), "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            document = provider_document(app.vendor, oauth={"token_url": f"http://127.0.0.1:{port}/token"})
            await app.provider(await app.tenant(), "vendor", document)
            answer = await browser.get(back)
            server.close()
        assert answer.status_code in (403, 503)
        assert reached == []
    await app.nothing_stored()


async def test_what_was_refused_is_in_the_audit_log_without_a_secret(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test")
    async with app.browser(ada) as browser:
        back = await arrived(browser)
        await browser.get(changed(back, iss="https://evil.test"))
        await browser.get(changed(back, state="x" * 43))
    events = await app.product.events(app.tenants["acme"], "connect.refused")
    assert [event.detail and event.detail["cause"] for event in events] == ["issuer", "state"]
    assert not any(parameters(back)["code"] in str(event) for event in events)
