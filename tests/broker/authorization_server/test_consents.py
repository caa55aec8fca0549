"""What people have agreed to, for which client and place, and when they are asked again."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from broker.authorization_server.consents import ConsentRequest, is_verified_client, normalize_redirect_uri
from broker.authorization_server.errors import OAuthError
from core.scopes import MCP_SCOPES, READ, WRITE
from tests.broker.authorization_server.grants_app import ACTOR, CLIENT, REDIRECT, GrantsApp, grants_on
from tests.support.postgres import ScratchDatabase


@pytest.fixture
async def app(database: ScratchDatabase, make_tenant) -> AsyncIterator[GrantsApp]:
    async with grants_on(database, await make_tenant(users=2)) as made:
        yield made


def asked(app: GrantsApp, *scopes: str, redirect_uri: str = REDIRECT, user: int = 0) -> ConsentRequest:
    wanted = frozenset(scopes) or MCP_SCOPES
    return ConsentRequest(app.tenant.id, app.tenant.users[user], CLIENT, redirect_uri, wanted, True)


async def given(app: GrantsApp, question: ConsentRequest) -> bool:
    return (await app.consents.get_status(question)).covers_request


async def test_the_last_answer_counts(app: GrantsApp) -> None:
    assert not (await app.consents.get_status(asked(app))).has_prior_consent
    await app.consents.grant_consent(ACTOR, asked(app))
    assert await given(app, asked(app, READ))
    await app.consents.grant_consent(ACTOR, asked(app, READ))
    assert not await given(app, asked(app, WRITE))
    await app.consents.grant_consent(ACTOR, asked(app, WRITE))
    assert await given(app, asked(app, READ))  # writing covers reading


async def test_it_is_known_who_has_agreed_to_anything_before(app: GrantsApp) -> None:
    await app.consents.grant_consent(ACTOR, asked(app))
    elsewhere = await app.consents.get_status(asked(app, redirect_uri=REDIRECT + "2"))
    assert (elsewhere.covers_request, elsewhere.has_prior_consent) == (False, True)
    assert not (await app.consents.get_status(asked(app, user=1))).has_prior_consent


@pytest.mark.parametrize(
    ("cause", "stays"),
    [("client", True), ("user", False), ("administrator", False), ("reuse", False), ("code_replay", False)],
)
async def test_whoever_takes_access_away_is_asked_again(app: GrantsApp, cause: str, stays: bool) -> None:
    for user in (0, 1):
        await app.consents.grant_consent(ACTOR, asked(app, user=user))
    code = await app.code()
    issued = await app.redeem(code)
    if cause == "client":
        await app.grants.revoke_by_client(app.tenant.id, issued.grant.id, CLIENT)
    elif cause == "reuse":
        await app.refresh((await app.refresh(issued.refresh_token)).refresh_token)
        await app.refusal(issued.refresh_token)
    elif cause == "code_replay":
        with pytest.raises(Exception, match="invalid_grant"):
            await app.redeem(code)
    else:
        await app.grants.revoke(ACTOR, app.tenant.id, issued.grant.id, cause)
    assert await app.cause(issued.grant.id) == cause
    assert await given(app, asked(app)) is stays
    assert await given(app, asked(app, user=1))


async def test_a_code_that_a_client_keeps_dies_with_the_consent(app: GrantsApp) -> None:
    """A client that expects to be thrown out asks for one more code, and would be in again a moment later."""
    issued, kept = await app.issued(), await app.code()
    others = await app.code(user_id=app.tenant.users[1])
    another = await app.code(client_id="another")
    await app.grants.revoke(ACTOR, app.tenant.id, issued.grant.id, "user", user_id=app.user)
    with pytest.raises(OAuthError, match="invalid_grant"):
        await app.redeem(kept)
    assert [one.client_id for one in await app.grants.list_for_user(app.tenant.id, app.user)] == []
    await app.redeem(others)
    await app.redeem(another, client_id="another")


async def test_withdrawing_waits_for_nobody(app: GrantsApp) -> None:
    """Two grants that end while a code of the same client is used: none of them waits in a circle."""
    for _ in range(5):
        grants, code = [await app.issued() for _ in range(6)], await app.code()
        ending = [app.grants.revoke(ACTOR, app.tenant.id, one.grant.id, "user") for one in grants]
        outcomes = await asyncio.gather(app.redeem(code), *ending, return_exceptions=True)
        assert outcomes[1:] == [None] * 6
        assert not isinstance(outcomes[0], BaseException) or isinstance(outcomes[0], OAuthError)


@pytest.mark.parametrize(
    ("redirect_uri", "place"),
    [
        ("http://127.0.0.1:4000/back?x=1", "http://127.0.0.1/back?x=1"),
        ("http://127.0.0.1/back", "http://127.0.0.1/back"),
        ("http://[::1]:4000/back", "http://[::1]/back"),
        ("http://localhost:4000/a:5000/b", "http://localhost/a:5000/b"),
        ("https://127.0.0.1:4000/back", "https://127.0.0.1:4000/back"),
        ("https://host.example:8443/back", "https://host.example:8443/back"),
        ("com.example.app:/back", "com.example.app:/back"),
    ],
)
def test_a_loopback_port_is_no_place(redirect_uri: str, place: str) -> None:
    assert normalize_redirect_uri(redirect_uri) == place


@pytest.mark.parametrize(
    ("kind", "redirect_uri", "sure"),
    [
        ("registered", "https://host.example/back", True),
        ("metadata", "https://host.example/back", True),
        ("dynamic", "https://host.example/back", False),
        ("registered", "http://127.0.0.1/back", False),
        ("metadata", "com.example.app:/back", False),
    ],
)
def test_who_can_be_nobody_else(kind: str, redirect_uri: str, sure: bool) -> None:
    assert is_verified_client(kind, redirect_uri) is sure
