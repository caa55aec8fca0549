"""Our access tokens: what one says, whom it speaks for, and what ends it; those that are none are in
test_forged_access_tokens.py."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast
from uuid import UUID, uuid4

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
from tests.broker.authorization_server.access_token_app import (
    ISSUER,
    LIFETIME,
    UNKNOWN,
    AccessTokenApp,
    app_on,
    signed,
    watched,
)
from tests.broker.authorization_server.grants import CLIENT, RESOURCE, add_grant, revoke
from tests.broker.broker_harness import ACTOR, BASE_URLS, READ, TOOL_HINTS, WRITE, BrokerHarness, FreshAccounts
from tests.support.directory import set_status
from tests.support.http_broker import served_over_http


@pytest.fixture
async def app(app: BrokerHarness) -> AccessTokenApp:
    return await app_on(app)


# What one says, and whom it speaks for ---------------------------------------------------------------------------


async def test_a_token_says_what_rfc_9068_asks_for(app: AccessTokenApp) -> None:
    jwt = jose.parse_jwt((await app.minted()).reveal())
    assert jwt.header == app.header()
    claims = dict(jwt.unverified_claims)
    assert claims.pop("exp") - claims.pop("iat") == 600
    assert len(claims.pop("jti")) >= 22
    assert claims == {
        "iss": ISSUER,
        "aud": RESOURCE,
        "sub": str(app.ada.id),
        "tid": str(app.ada.tenant_id),
        "gid": str(app.grant.id),
        "client_id": CLIENT,
        "scope": "mcp:read mcp:write",
    }
    assert len({(await app.claims())["jti"] for _ in range(20)}) == 20


async def test_whom_it_speaks_for(app: AccessTokenApp) -> None:
    verdict = await app.tokens.verify(await app.minted())
    assert isinstance(verdict, Credential)
    assert (verdict.kind, verdict.id) == ("oauth", str(app.grant.id))
    assert (verdict.tenant_id, verdict.user_id) == (app.ada.tenant_id, app.ada.id)
    assert (verdict.scopes, verdict.client) == ({"mcp:read", "mcp:write"}, "Example client")
    assert verdict.generation == await app.broker.generation(app.ada.tenant_id)
    assert verdict.expires_at is not None
    assert timedelta(minutes=9) < verdict.expires_at - app.broker.clock() <= LIFETIME


async def test_verifying_changes_nothing(app: AccessTokenApp) -> None:
    before = await app.broker.generation(app.ada.tenant_id)
    await app.tokens.verify(await app.minted())
    assert await app.broker.generation(app.ada.tenant_id) == before


async def test_a_narrowed_token_does_less_than_its_grant_and_no_token_does_more(app: AccessTokenApp) -> None:
    assert await scopes_of(app, "mcp:read") == {"mcp:read"}
    assert await scopes_of(app, "mcp:read", "admin:read") == {"mcp:read"}, "not in the grant"
    assert await scopes_of(app) == set()


async def scopes_of(app: AccessTokenApp, *scopes: str) -> frozenset[str]:
    verdict = await app.tokens.verify(await app.minted(app.grant.with_scopes(*scopes)))
    assert isinstance(verdict, Credential)
    return verdict.scopes


async def test_what_administers_ends_with_the_role(app: AccessTokenApp) -> None:
    app.grant = await add_grant(app.broker.trusted, app.broker.clock, app.ada.tenant_id, app.ada.id, "admin:write")
    assert await scopes_of(app, "admin:write") == set()
    await app.broker.execute("UPDATE core.users SET system_role = 'admin'")
    assert await scopes_of(app, "admin:write") == {"admin:write"}


# What ends it ----------------------------------------------------------------------------------------------------


async def reason(app: AccessTokenApp, token: Secret) -> RefusalReason:
    verdict = await app.tokens.verify(token)
    assert isinstance(verdict, CredentialRefusal)
    assert (verdict.tenant_id, verdict.user_id) == (app.ada.tenant_id, app.ada.id)
    assert verdict.credential_id == str(app.grant.id)
    return verdict.reason


async def test_it_ends_in_its_second(app: AccessTokenApp) -> None:
    token = await app.minted()
    app.broker.clock.ahead = LIFETIME - timedelta(seconds=2)
    assert isinstance(await app.tokens.verify(token), Credential)
    app.broker.clock.ahead = LIFETIME
    assert await reason(app, token) is RefusalReason.EXPIRED


async def test_a_revoked_grant(app: AccessTokenApp) -> None:
    token = await app.minted()
    await revoke(app.broker.trusted, app.broker.clock, app.grant)
    assert await reason(app, token) is RefusalReason.REVOKED


async def test_a_grant_that_is_over(app: AccessTokenApp) -> None:
    app.grant = await add_grant(app.broker.trusted, app.broker.clock, app.ada.tenant_id, app.ada.id, days=1)
    app.broker.clock.ahead = timedelta(days=1)
    assert await reason(app, await app.minted()) is RefusalReason.EXPIRED


async def test_a_suspended_user_and_tenant(app: AccessTokenApp) -> None:
    token = await app.minted()
    await set_status(app.broker.console, ACTOR, app.ada.tenant_id, app.ada.email, "suspended")
    assert await reason(app, token) is RefusalReason.USER_SUSPENDED
    await set_tenant_status(app.broker.console, ACTOR, app.ada.tenant_id, "suspended")
    assert await reason(app, token) is RefusalReason.TENANT_SUSPENDED


async def test_a_grant_a_user_a_tenant_that_is_gone(app: AccessTokenApp) -> None:
    token = await app.minted()
    gone = CredentialRefusal(RefusalReason.REVOKED)
    assert await app.verdict((await app.minted(replace(app.grant, id=uuid4()))).reveal()) == gone
    await app.broker.execute("DELETE FROM core.tenants")
    assert await app.tokens.verify(token) == gone


@pytest.mark.parametrize("foreign", ["tenant_id", "user_id", "client_id"])
async def test_what_a_token_says_and_its_grant_does_not_is_refused(app: AccessTokenApp, foreign: str) -> None:
    """Nobody but us can sign such a token; if we ever do by mistake, it opens nothing."""
    bob = await app.broker.person(await app.broker.tenant("evil"), "bob@example.test")
    value: Any = {"tenant_id": bob.tenant_id, "user_id": bob.id, "client_id": "another"}[foreign]
    changed = replace(app.grant, **{foreign: value})
    assert await app.tokens.verify(await app.minted(changed)) == CredentialRefusal(RefusalReason.REVOKED)


async def test_a_genuine_token_costs_one_statement(app: AccessTokenApp) -> None:
    async with watched(app) as (tokens, proxy):
        assert isinstance(await tokens.verify(await app.minted()), Credential)
        asked = [sent.sql for sent in proxy.statements if not sent.sql.startswith(("BEGIN", "SELECT set_", "COMMIT"))]
        assert len(asked) == 1
        assert "FROM auth.grants" in asked[0]


async def test_a_key_that_others_may_know_counts_no_more_where_it_is_still_known(app: AccessTokenApp) -> None:
    before = await app.minted()
    async with watched(app) as (tokens, _):  # it has just read the keys
        assert isinstance(await tokens.verify(before), Credential)
        _, store = await open_signing_keys(app.broker.trusted, app.broker.keys, clock=app.broker.clock)
        await store.replace_all(ACTOR)
        assert await tokens.verify(before) == UNKNOWN
        assert await tokens.verify(before) == UNKNOWN
        assert isinstance(await tokens.verify(await app.minted()), Credential)


# Who verifies what -----------------------------------------------------------------------------------------------


class Recorder:
    """Counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def verify(self, token: Secret) -> Credential | CredentialRefusal:
        self.asked.append(token.reveal())
        return UNKNOWN

    async def verify_again(self, tenant_id: UUID, tokens: Sequence[Secret]) -> Sequence[Credential | None]:
        self.asked += [token.reveal() for token in tokens]
        return [None for _ in tokens]


async def test_the_form_of_a_credential_tells_who_verifies_it() -> None:
    api, jwts = Recorder(), Recorder()
    verifiers = CompositeVerifier(api, jwts)
    for text in ("a.b.c", "mcpist_x", "", "a.b", "a.b.c.d", "a." * 5_000 + "c"):
        assert await verifiers.verify(Secret(text)) == UNKNOWN
    assert jwts.asked == ["a.b.c"]
    assert len(api.asked) == 5
    assert await CompositeVerifier(api).verify(Secret("a.b.c")) == UNKNOWN
    assert len(api.asked) == 5


async def test_leases_in_the_name_of_an_access_token(app: AccessTokenApp) -> None:
    broker, ada = app.broker, app.ada
    await broker.role(ada.tenant_id, "all", allow=["github.*"])
    await broker.join(ada, "all")
    await broker.put(ada.tenant_id, ada.own, "own-of-ada")
    leases = LeaseService(
        CompositeVerifier(broker.tokens, app.tokens),
        broker.trusted,
        broker.vault,
        TOOL_HINTS,
        base_urls=BASE_URLS,
        clock=broker.clock,
        accounts=FreshAccounts(),
        mandates=broker.mandate_service,
    )
    reading = replace(ada, token=await app.minted(app.grant.with_scopes("mcp:read")))
    lease = await leases.lease(reading.asks(READ))
    assert isinstance(lease, Lease)
    assert lease.access_token == Secret("own-of-ada")
    forbidden = CredentialRefusal(RefusalReason.FORBIDDEN, ada.tenant_id, ada.id, str(app.grant.id))
    assert await leases.lease(reading.asks(WRITE)) == forbidden, "the broker asks for the scope too"
    assert isinstance(await leases.lease(replace(ada, token=await app.minted()).asks(WRITE)), Lease)
    status = await leases.get_connections(reading.token)
    assert not isinstance(status, CredentialRefusal)
    assert status["github"].account == ""
    await revoke(broker.trusted, broker.clock, app.grant)
    assert await leases.lease(reading.asks(READ)) == replace(forbidden, reason=RefusalReason.REVOKED)


async def test_the_longest_token_travels_to_a_broker_that_is_a_process_of_its_own(tmp_path: Path) -> None:
    jwts = Recorder()
    broker = LocalBroker(CompositeVerifier(Recorder(), jwts), *cast("Any", [None] * 3))
    longest = "a.b." + "c" * (MAX_JWT_BYTES - 4)
    async with served_over_http(broker, tmp_path) as served:
        assert await served.client.verify(Secret(longest)) == UNKNOWN
    assert jwts.asked == [longest]


async def test_the_grant_of_a_token_is_known_after_its_end_too(app: AccessTokenApp) -> None:
    token = await app.minted()
    app.broker.clock.ahead = timedelta(days=1)
    assert await app.tokens.find_grant(token) == (app.grant.tenant_id, app.grant.id)
    claims = await app.claims()
    assert await app.tokens.find_grant(Secret(signed(RSAKey.generate_key(2_048), app.header(), claims))) is None
    assert await app.tokens.find_grant(Secret("nonsense")) is None
