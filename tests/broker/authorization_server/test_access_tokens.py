"""Our access tokens: what one says, whom it speaks for, and what ends it; those that are none are in
test_forged_access_tokens.py."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest
from joserfc.jwk import RSAKey

from broker.authorization_server import jose
from broker.authorization_server.signing_keys import open_signing_keys
from broker.identity.composite_verifier import CompositeVerifier
from broker.interface import CredentialRefusal, Lease, RefusalReason
from broker.lease_service import LeaseService
from broker.local import LocalBroker
from core.caller import Credential
from core.directory.tenants import set_status as set_tenant_status
from core.secret import Secret
from core.token_format import MAX_JWT_BYTES
from tests.broker.authorization_server.access_token_rig import ISSUER, LIFETIME, UNKNOWN, Rig, rig_on, signed, watched
from tests.broker.authorization_server.grants import CLIENT, RESOURCE, add_grant, revoke
from tests.broker.world import ACTOR, BASE_URLS, READ, TOOL_HINTS, WRITE, FreshAccounts, World
from tests.support.directory import set_status
from tests.support.http_broker import served_over_http


@pytest.fixture
async def rig(world: World) -> Rig:
    return await rig_on(world)


# What one says, and whom it speaks for ---------------------------------------------------------------------------


async def test_a_token_says_what_rfc_9068_asks_for(rig: Rig) -> None:
    jwt = jose.parse_jwt((await rig.minted()).reveal())
    assert jwt.header == rig.header()
    claims = dict(jwt.unverified_claims)
    assert claims.pop("exp") - claims.pop("iat") == 600
    assert len(claims.pop("jti")) >= 22
    assert claims == {
        "iss": ISSUER,
        "aud": RESOURCE,
        "sub": str(rig.ada.id),
        "tid": str(rig.ada.tenant_id),
        "gid": str(rig.grant.id),
        "client_id": CLIENT,
        "scope": "mcp:read mcp:write",
    }
    assert len({(await rig.claims())["jti"] for _ in range(20)}) == 20


async def test_whom_it_speaks_for(rig: Rig) -> None:
    verdict = await rig.tokens.verify(await rig.minted())
    assert isinstance(verdict, Credential)
    assert (verdict.kind, verdict.id) == ("oauth", str(rig.grant.id))
    assert (verdict.tenant_id, verdict.user_id) == (rig.ada.tenant_id, rig.ada.id)
    assert (verdict.scopes, verdict.client) == ({"mcp:read", "mcp:write"}, "Example client")
    assert verdict.generation == await rig.world.generation(rig.ada.tenant_id)
    assert verdict.expires_at is not None
    assert timedelta(minutes=9) < verdict.expires_at - rig.world.clock() <= LIFETIME


async def test_verifying_changes_nothing(rig: Rig) -> None:
    before = await rig.world.generation(rig.ada.tenant_id)
    await rig.tokens.verify(await rig.minted())
    assert await rig.world.generation(rig.ada.tenant_id) == before


async def test_a_narrowed_token_does_less_than_its_grant_and_no_token_does_more(rig: Rig) -> None:
    assert await scopes_of(rig, "mcp:read") == {"mcp:read"}
    assert await scopes_of(rig, "mcp:read", "admin:read") == {"mcp:read"}, "not in the grant"
    assert await scopes_of(rig) == set()


async def scopes_of(rig: Rig, *scopes: str) -> frozenset[str]:
    verdict = await rig.tokens.verify(await rig.minted(rig.grant.with_scopes(*scopes)))
    assert isinstance(verdict, Credential)
    return verdict.scopes


async def test_what_administers_ends_with_the_role(rig: Rig) -> None:
    rig.grant = await add_grant(rig.world.trusted, rig.world.clock, rig.ada.tenant_id, rig.ada.id, "admin:write")
    assert await scopes_of(rig, "admin:write") == set()
    await rig.world.execute("UPDATE core.users SET system_role = 'admin'")
    assert await scopes_of(rig, "admin:write") == {"admin:write"}


# What ends it ----------------------------------------------------------------------------------------------------


async def reason(rig: Rig, token: Secret) -> RefusalReason:
    verdict = await rig.tokens.verify(token)
    assert isinstance(verdict, CredentialRefusal)
    assert (verdict.tenant_id, verdict.user_id) == (rig.ada.tenant_id, rig.ada.id)
    assert verdict.credential_id == str(rig.grant.id)
    return verdict.reason


async def test_it_ends_in_its_second(rig: Rig) -> None:
    token = await rig.minted()
    rig.world.clock.ahead = LIFETIME - timedelta(seconds=2)
    assert isinstance(await rig.tokens.verify(token), Credential)
    rig.world.clock.ahead = LIFETIME
    assert await reason(rig, token) is RefusalReason.EXPIRED


async def test_a_revoked_grant(rig: Rig) -> None:
    token = await rig.minted()
    await revoke(rig.world.trusted, rig.world.clock, rig.grant)
    assert await reason(rig, token) is RefusalReason.REVOKED


async def test_a_grant_that_is_over(rig: Rig) -> None:
    rig.grant = await add_grant(rig.world.trusted, rig.world.clock, rig.ada.tenant_id, rig.ada.id, days=1)
    rig.world.clock.ahead = timedelta(days=1)
    assert await reason(rig, await rig.minted()) is RefusalReason.EXPIRED


async def test_a_suspended_user_and_tenant(rig: Rig) -> None:
    token = await rig.minted()
    await set_status(rig.world.console, ACTOR, rig.ada.tenant_id, rig.ada.email, "suspended")
    assert await reason(rig, token) is RefusalReason.USER_SUSPENDED
    await set_tenant_status(rig.world.console, ACTOR, rig.ada.tenant_id, "suspended")
    assert await reason(rig, token) is RefusalReason.TENANT_SUSPENDED


async def test_a_grant_a_user_a_tenant_that_is_gone(rig: Rig) -> None:
    token = await rig.minted()
    gone = CredentialRefusal(RefusalReason.REVOKED)
    assert await rig.verdict((await rig.minted(replace(rig.grant, id=uuid4()))).reveal()) == gone
    await rig.world.execute("DELETE FROM core.tenants")
    assert await rig.tokens.verify(token) == gone


@pytest.mark.parametrize("foreign", ["tenant_id", "user_id", "client_id"])
async def test_what_a_token_says_and_its_grant_does_not_is_refused(rig: Rig, foreign: str) -> None:
    """Nobody but us can sign such a token; if we ever do by mistake, it opens nothing."""
    bob = await rig.world.person(await rig.world.tenant("evil"), "bob@example.test")
    value: Any = {"tenant_id": bob.tenant_id, "user_id": bob.id, "client_id": "another"}[foreign]
    changed = replace(rig.grant, **{foreign: value})
    assert await rig.tokens.verify(await rig.minted(changed)) == CredentialRefusal(RefusalReason.REVOKED)


async def test_a_genuine_token_costs_one_statement(rig: Rig) -> None:
    async with watched(rig) as (tokens, proxy):
        assert isinstance(await tokens.verify(await rig.minted()), Credential)
        asked = [sent.sql for sent in proxy.statements if not sent.sql.startswith(("BEGIN", "SELECT set_", "COMMIT"))]
        assert len(asked) == 1
        assert "FROM auth.grants" in asked[0]


async def test_a_key_that_others_may_know_counts_no_more_where_it_is_still_known(rig: Rig) -> None:
    before = await rig.minted()
    async with watched(rig) as (tokens, _):  # it has just read the keys
        assert isinstance(await tokens.verify(before), Credential)
        _, store = await open_signing_keys(rig.world.trusted, rig.world.keys, clock=rig.world.clock)
        await store.replace_all(ACTOR)
        assert await tokens.verify(before) == UNKNOWN
        assert await tokens.verify(before) == UNKNOWN
        assert isinstance(await tokens.verify(await rig.minted()), Credential)


# Who verifies what -----------------------------------------------------------------------------------------------


class Recorder:
    """Counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def verify(self, token: Secret) -> Credential | CredentialRefusal:
        self.asked.append(token.reveal())
        return UNKNOWN


async def test_the_form_of_a_credential_tells_who_verifies_it() -> None:
    api, jwts = Recorder(), Recorder()
    verifiers = CompositeVerifier(api, jwts)
    for text in ("a.b.c", "mcpist_x", "", "a.b", "a.b.c.d", "a." * 5_000 + "c"):
        assert await verifiers.verify(Secret(text)) == UNKNOWN
    assert jwts.asked == ["a.b.c"]
    assert len(api.asked) == 5
    assert await CompositeVerifier(api).verify(Secret("a.b.c")) == UNKNOWN
    assert len(api.asked) == 5


async def test_leases_in_the_name_of_an_access_token(rig: Rig) -> None:
    world, ada = rig.world, rig.ada
    await world.role(ada.tenant_id, "all", allow=["github.*"])
    await world.join(ada, "all")
    await world.put(ada.tenant_id, ada.own, "own-of-ada")
    leases = LeaseService(
        CompositeVerifier(world.tokens, rig.tokens),
        world.trusted,
        world.vault,
        TOOL_HINTS,
        base_urls=BASE_URLS,
        clock=world.clock,
        accounts=FreshAccounts(),
    )
    reading = replace(ada, token=await rig.minted(rig.grant.with_scopes("mcp:read")))
    lease = await leases.lease(reading.asks(READ))
    assert isinstance(lease, Lease)
    assert lease.access_token == Secret("own-of-ada")
    forbidden = CredentialRefusal(RefusalReason.FORBIDDEN, ada.tenant_id, ada.id, str(rig.grant.id))
    assert await leases.lease(reading.asks(WRITE)) == forbidden, "the broker asks for the scope too"
    assert isinstance(await leases.lease(replace(ada, token=await rig.minted()).asks(WRITE)), Lease)
    status = await leases.get_connections(reading.token)
    assert not isinstance(status, CredentialRefusal)
    assert status["github"].account == ""
    await revoke(world.trusted, world.clock, rig.grant)
    assert await leases.lease(reading.asks(READ)) == replace(forbidden, reason=RefusalReason.REVOKED)


async def test_the_longest_token_travels_to_a_broker_that_is_a_process_of_its_own(tmp_path: Path) -> None:
    jwts = Recorder()
    broker = LocalBroker(CompositeVerifier(Recorder(), jwts), cast("LeaseService", None))
    longest = "a.b." + "c" * (MAX_JWT_BYTES - 4)
    async with served_over_http(broker, tmp_path) as served:
        assert await served.client.verify(Secret(longest)) == UNKNOWN
    assert jwts.asked == [longest]


async def test_the_grant_of_a_token_is_known_after_its_end_too(rig: Rig) -> None:
    token = await rig.minted()
    rig.world.clock.ahead = timedelta(days=1)
    assert await rig.tokens.find_grant(token) == (rig.grant.tenant_id, rig.grant.id)
    claims = await rig.claims()
    assert await rig.tokens.find_grant(Secret(signed(RSAKey.generate_key(2_048), rig.header(), claims))) is None
    assert await rig.tokens.find_grant(Secret("nonsense")) is None
