"""OAuth where the broker is a process of its own: its tokens count at every gateway, and so do their ends."""

import asyncio
import re
import secrets
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
import pytest_asyncio
from joserfc import jws

from core.directory import tenants
from tests.process.split_oauth import ClientOf, client_of, given, held, refused
from tests.process.test_split import person
from tests.support import directory
from tests.support.front import BROKER_PATHS
from tests.support.postgres import DatabaseServer
from tests.support.product import ACTOR
from tests.support.running_product import free_port
from tests.support.split import Split, run_operator_command, running, split_on

pytestmark = [pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="module")]
PROVEN = "SELECT 1 FROM auth.grants WHERE client_id = $1 FOR UPDATE"
CODE = "SELECT 1 FROM auth.codes WHERE client_id = $1 AND consumed_at IS NULL FOR UPDATE"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def deployment(database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Split]:
    """One deployment for all: each test has a tenant of its own, and leaves every process running."""
    async with database_server.database() as database, split_on(database, tmp_path_factory.mktemp("split")) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def ada(deployment: Split) -> AsyncIterator[ClientOf]:
    async with client_of(deployment, await person(deployment, f"acme-{secrets.token_hex(4)}", "ada")) as client:
        yield client


async def test_where_a_client_is_sent(deployment: Split) -> None:
    """Every gateway names the same server, which is where the public URL leads to the broker."""
    public = deployment.public_url
    metadata = f"{public}/.well-known/oauth-protected-resource/mcp"
    host = httpx2.URL(public).netloc.decode()
    async with httpx2.AsyncClient(trust_env=False) as http:
        for gateway in deployment.gateways:
            at = f"http://127.0.0.1:{gateway.port}"
            challenged = await http.post(f"{at}/mcp", headers={"Host": host})
            assert challenged.status_code == 401
            assert f'resource_metadata="{metadata}"' in challenged.headers["WWW-Authenticate"]
            for path in ("", "/mcp"):
                found = await http.get(f"{at}/.well-known/oauth-protected-resource{path}", headers={"Host": host})
                assert found.json()["authorization_servers"] == [public]
                assert found.json()["resource"] == f"{public}/mcp"
            assert (await http.get(f"{at}/oauth/jwks.json", headers={"Host": host})).status_code == 404
        server = (await http.get(f"{public}/.well-known/oauth-authorization-server")).json()
        assert server["issuer"] == public
        for endpoint in ("authorization_endpoint", "token_endpoint", "jwks_uri", "revocation_endpoint"):
            assert server[endpoint].startswith(f"{public}/oauth/")
    assert deployment.broker.ready["broker_url"] == f"http://127.0.0.1:{deployment.broker.port}"


@pytest.mark.long
async def test_a_gateway_that_was_told_of_another_server(deployment: Split) -> None:
    """It has no identity file, which is the broker's."""
    elsewhere = "https://login.acme.example"
    gateway = replace(deployment.gateways[0], port=free_port(), running=None)
    gateway.variables = {**gateway.variables, "MCPIST_AUTHORIZATION_SERVER": elsewhere}
    async with running([gateway]), httpx2.AsyncClient(trust_env=False) as http:
        url = f"http://127.0.0.1:{gateway.port}/.well-known/oauth-protected-resource/mcp"
        found = await http.get(url, headers={"Host": httpx2.URL(deployment.public_url).netloc.decode()})
        assert found.json()["authorization_servers"] == [elsewhere]


async def test_the_paths_that_the_documentation_does_not_send_to_gateways() -> None:
    told = (Path(__file__).parents[2] / "docs" / "split.md").read_text()
    sent = re.search(r"Divide the public name by path(.*?)everything else", told, re.DOTALL)
    assert sent is not None
    assert set(re.findall(r"`(/[^`]+)`", sent[1])) == {"/console", *BROKER_PATHS}


async def test_every_end_reaches_both(deployment: Split, ada: ClientOf) -> None:
    """However access ends, no gateway serves a token of it a second later, though each has seen it before."""
    tenant = ada.person.tenant

    first = await ada.tokens()
    assert len(ada.browser.asked) == 1
    await ada.works(first["access_token"])
    form = {"token": first["refresh_token"], "client_id": ada.id}
    assert (await ada.http.post(f"{deployment.public_url}/oauth/revoke", data=form)).status_code == 200
    await ada.ends(first["access_token"])
    assert refused(await ada.refreshed(first["refresh_token"])) == "invalid_grant"

    second = await ada.tokens()
    await ada.works(second["access_token"])
    page = await ada.browser.browser.get(f"{deployment.public_url}/account")
    [grant_id] = re.findall(r'/account/grants/end".*?name="id" value="([^"]+)"', page.text, re.DOTALL)
    headers = {"Origin": deployment.public_url, "Sec-Fetch-Site": "same-origin"}
    ended = await ada.browser.browser.post(
        f"{deployment.public_url}/account/grants/end", data={"id": grant_id}, headers=headers
    )
    assert ended.status_code == 303
    await ada.ends(second["access_token"])

    third = await ada.tokens()
    await ada.works(third["access_token"])
    await directory.set_status(deployment.product.console, ACTOR, tenant.id, ada.person.email, "suspended")
    await ada.ends(third["access_token"])
    assert refused(await ada.refreshed(third["refresh_token"])) == "invalid_grant"
    away = await ada.browser.browser.get(f"{deployment.public_url}/account")
    assert away.headers["location"].startswith("/sign-in")
    await directory.set_status(deployment.product.console, ACTOR, tenant.id, ada.person.email, "active")
    await tenants.set_status(deployment.product.console, ACTOR, tenant.id, "suspended")
    await ada.ends(third["access_token"])


async def test_killed_before_a_code_is_used_up(deployment: Split, ada: ClientOf) -> None:
    """The broker dies with the redemption in its hands: the code is as good as before, and for one redemption."""
    code = await ada.code()
    async with held(deployment, CODE, ada.id) as waited_for:
        asking = asyncio.create_task(ada.redeemed(code))
        await waited_for()
        await deployment.broker.kill()
        with pytest.raises(httpx2.TransportError):
            await asking
    assert (await ada.redeemed(code)).status_code == 502  # the load balancer's
    await deployment.broker.start()
    tokens = given(await ada.redeemed(code))
    await ada.works(tokens["access_token"])
    assert await ada.grants() == [None]
    assert refused(await ada.redeemed(code)) == "invalid_grant"
    await ada.ends(tokens["access_token"])


@pytest.mark.long
async def test_killed_after_a_code_is_used_up(deployment: Split, ada: ClientOf) -> None:
    """The answer never arrived. Nobody can tell the client from a thief, so the second use ends what the first got."""
    code = await ada.code()
    deployment.front.lose = 1
    with pytest.raises(httpx2.TransportError):
        await ada.redeemed(code)
    await deployment.broker.kill()
    await deployment.broker.start()
    assert refused(await ada.redeemed(code)) == "invalid_grant"
    assert await ada.grants() == ["code_replay"]
    await ada.works((await ada.tokens())["access_token"])


@pytest.mark.long
async def test_killed_between_the_browser_and_the_client(deployment: Split, ada: ClientOf) -> None:
    """A restart of the broker forgets nothing: neither the session nor the consent nor the code."""
    code = await ada.code()
    await deployment.broker.kill()
    await deployment.broker.start()
    await ada.works(given(await ada.redeemed(code))["access_token"])
    await ada.code()
    assert len(ada.browser.asked) == 1


async def test_refresh_across_kills(deployment: Split, ada: ClientOf) -> None:
    """The previous refresh token counts until its successor is first used, whenever the broker dies."""
    first = await ada.tokens()
    async with held(deployment, PROVEN, ada.id) as waited_for:
        asking = asyncio.create_task(ada.refreshed(first["refresh_token"]))
        await waited_for()
        await deployment.broker.kill()
        with pytest.raises(httpx2.TransportError):
            await asking
    await deployment.broker.start()
    deployment.front.lose = 1
    with pytest.raises(httpx2.TransportError):  # rotated, but the successor never arrived
        await ada.refreshed(first["refresh_token"])
    await deployment.broker.kill()
    await deployment.broker.start()
    second = given(await ada.refreshed(first["refresh_token"]))
    third = given(await ada.refreshed(first["refresh_token"]))
    assert refused(await ada.refreshed(second["refresh_token"])) == "invalid_grant"  # replaced, and no more than that
    await ada.works(third["access_token"])
    fourth = given(await ada.refreshed(third["refresh_token"]))
    await ada.works(fourth["access_token"])
    assert refused(await ada.refreshed(first["refresh_token"])) == "invalid_grant"
    await ada.ends(fourth["access_token"])
    assert refused(await ada.refreshed(fourth["refresh_token"])) == "invalid_grant"
    assert await ada.grants() == ["reuse"]


@pytest.mark.long
@pytest.mark.timeout(300)
async def test_never_two_tokens_of_one_code(deployment: Split, ada: ClientOf) -> None:
    """Several redemptions at once, and the broker dies anywhere in between: one has its tokens, or nobody."""
    for number in range(8):
        code, grants = await ada.code(), len(await ada.grants())
        asking = [asyncio.create_task(ada.redeemed(code)) for _ in range(4)]
        await asyncio.sleep(number * 0.006)  # where it dies is what varies
        await deployment.broker.kill()
        answers = await asyncio.gather(*asking, return_exceptions=True)
        await deployment.broker.start()
        answers.append(await ada.redeemed(code))
        got = [one.json() for one in answers if isinstance(one, httpx2.Response) and one.status_code == 200]
        causes = (await ada.grants())[grants:]
        assert len(got) <= 1
        assert len(causes) <= 1
        assert {refused(one) for one in answers if isinstance(one, httpx2.Response) and one.status_code == 400} <= {
            "invalid_grant"
        }
        if got and causes == [None]:
            await ada.works(got[0]["access_token"])
        elif got:
            assert causes == ["code_replay"]
            await ada.ends(got[0]["access_token"])


@pytest.mark.long
async def test_signing_keys_rotated_elsewhere(deployment: Split, ada: ClientOf, tmp_path: Path) -> None:
    """A second broker signs with the new key at once. The first one, which gateways ask, was told nothing."""
    before = await ada.tokens()
    await ada.works(before["access_token"])
    async with deployment.product.database.admin_connection() as admin:  # else the command says to wait
        await admin.execute("UPDATE auth.signing_keys SET created_at = created_at - interval '3 minutes'")
    await run_operator_command(deployment, "keys", "signing", "rotate")
    second = replace(deployment.broker, port=free_port(), running=None, ready={})
    async with running([second]):
        after = given(await ada.refreshed(before["refresh_token"], f"http://127.0.0.1:{second.port}"))
        assert kid(before) != kid(after)
        await ada.works(after["access_token"])
        await ada.works(before["access_token"])
        published = (await ada.http.get(f"{deployment.public_url}/oauth/jwks.json")).json()
        assert {kid(before), kid(after)} <= {key["kid"] for key in published["keys"]}

    await run_operator_command(deployment, "keys", "signing", "rotate", "--compromised")
    await ada.ends(after["access_token"])
    second = replace(second, running=None)
    async with running([second]):
        anew = given(await ada.refreshed(after["refresh_token"], f"http://127.0.0.1:{second.port}"))
        assert kid(anew) not in {key["kid"] for key in published["keys"]}
        await ada.works(anew["access_token"])


def kid(tokens: dict[str, str]) -> str:
    return jws.extract_compact(tokens["access_token"].encode()).headers()["kid"]
