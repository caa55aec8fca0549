"""What people have agreed to, for which client and place, and when they are asked again."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from broker.authorization_server.consents import ConsentRequest, is_verified_client, normalize_redirect_uri
from broker.authorization_server.errors import OAuthError
from core.scopes import MCP_SCOPES, READ, WRITE
from tests.broker.authorization_server.grants_rig import ACTOR, CLIENT, REDIRECT, GrantsRig, grants_on
from tests.support.postgres import ScratchDatabase


@pytest.fixture
async def rig(database: ScratchDatabase, make_tenant) -> AsyncIterator[GrantsRig]:
    async with grants_on(database, await make_tenant(users=2)) as made:
        yield made


def asked(rig: GrantsRig, *scopes: str, redirect_uri: str = REDIRECT, user: int = 0) -> ConsentRequest:
    wanted = frozenset(scopes) or MCP_SCOPES
    return ConsentRequest(rig.tenant.id, rig.tenant.users[user], CLIENT, redirect_uri, wanted, True)


async def given(rig: GrantsRig, question: ConsentRequest) -> bool:
    return (await rig.consents.get_status(question)).covers_request


async def test_the_last_answer_counts(rig: GrantsRig) -> None:
    assert not (await rig.consents.get_status(asked(rig))).has_prior_consent
    await rig.consents.grant_consent(ACTOR, asked(rig))
    assert await given(rig, asked(rig, READ))
    await rig.consents.grant_consent(ACTOR, asked(rig, READ))
    assert not await given(rig, asked(rig, WRITE))
    await rig.consents.grant_consent(ACTOR, asked(rig, WRITE))
    assert await given(rig, asked(rig, READ))  # writing covers reading


async def test_it_is_known_who_has_agreed_to_anything_before(rig: GrantsRig) -> None:
    await rig.consents.grant_consent(ACTOR, asked(rig))
    elsewhere = await rig.consents.get_status(asked(rig, redirect_uri=REDIRECT + "2"))
    assert (elsewhere.covers_request, elsewhere.has_prior_consent) == (False, True)
    assert not (await rig.consents.get_status(asked(rig, user=1))).has_prior_consent


@pytest.mark.parametrize(
    ("cause", "stays"),
    [("client", True), ("user", False), ("administrator", False), ("reuse", False), ("code_replay", False)],
)
async def test_whoever_takes_access_away_is_asked_again(rig: GrantsRig, cause: str, stays: bool) -> None:
    for user in (0, 1):
        await rig.consents.grant_consent(ACTOR, asked(rig, user=user))
    code = await rig.code()
    issued = await rig.redeem(code)
    if cause == "client":
        await rig.grants.revoke_by_client(rig.tenant.id, issued.grant.id, CLIENT)
    elif cause == "reuse":
        await rig.refresh((await rig.refresh(issued.refresh_token)).refresh_token)
        await rig.refusal(issued.refresh_token)
    elif cause == "code_replay":
        with pytest.raises(Exception, match="invalid_grant"):
            await rig.redeem(code)
    else:
        await rig.grants.revoke(ACTOR, rig.tenant.id, issued.grant.id, cause)
    assert await rig.cause(issued.grant.id) == cause
    assert await given(rig, asked(rig)) is stays
    assert await given(rig, asked(rig, user=1))


async def test_a_code_that_a_client_keeps_dies_with_the_consent(rig: GrantsRig) -> None:
    """A client that expects to be thrown out asks for one more code, and would be in again a moment later."""
    issued, kept = await rig.issued(), await rig.code()
    others = await rig.code(user_id=rig.tenant.users[1])
    another = await rig.code(client_id="another")
    await rig.grants.revoke(ACTOR, rig.tenant.id, issued.grant.id, "user", user_id=rig.user)
    with pytest.raises(OAuthError, match="invalid_grant"):
        await rig.redeem(kept)
    assert [one.client_id for one in await rig.grants.list_for_user(rig.tenant.id, rig.user)] == []
    await rig.redeem(others)
    await rig.redeem(another, client_id="another")


async def test_withdrawing_waits_for_nobody(rig: GrantsRig) -> None:
    """Two grants that end while a code of the same client is used: none of them waits in a circle."""
    for _ in range(5):
        grants, code = [await rig.issued() for _ in range(6)], await rig.code()
        ending = [rig.grants.revoke(ACTOR, rig.tenant.id, one.grant.id, "user") for one in grants]
        outcomes = await asyncio.gather(rig.redeem(code), *ending, return_exceptions=True)
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
