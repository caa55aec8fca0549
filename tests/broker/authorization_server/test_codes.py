"""Authorization codes: good for one client, one redirect URI, one verifier, one minute and one use."""

from collections.abc import AsyncIterator

import pytest

from broker.authorization_server import authorization_codes
from broker.authorization_server.errors import OAuthError
from core.scopes import ADMIN_READ, MCP_SCOPES, READ
from core.secret import Secret
from tests.broker.authorization_server.grants_app import NOW, REDIRECT, GrantsApp, gathered, grants_on
from tests.support.postgres import ScratchDatabase


@pytest.fixture
async def app(database: ScratchDatabase, make_tenant) -> AsyncIterator[GrantsApp]:
    async with grants_on(database, await make_tenant(users=2)) as made:
        yield made


async def refused(app: GrantsApp, code: Secret, **changes: object) -> str:
    with pytest.raises(OAuthError) as error:
        await app.redeem(code, **changes)
    return error.value.code


async def test_a_code_becomes_a_grant(app: GrantsApp) -> None:
    issued = await app.issued(scopes=frozenset({READ}))
    grant = issued.grant
    assert (grant.tenant_id, grant.user_id, grant.scopes) == (app.tenant.id, app.user, {READ})
    assert (await app.refresh(issued.refresh_token)).grant == grant
    (entry,) = await app.grants.list_for_user(app.tenant.id, app.user)
    assert (entry.id, entry.client_name, entry.scopes) == (grant.id, "Client", (READ,))
    (event,) = await app.events("grant.created")
    assert (event.user_id, event.credential_id) == (app.user, str(grant.id))


WRONG = [
    {"client_id": "https://other.example/metadata.json"},
    {"redirect_uri": REDIRECT + "/"},
    {"redirect_uri": "https://evil.example/callback"},
    {"verifier": "w" * 43},
    {"verifier": authorization_codes.compute_code_challenge("v" * 43)},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
async def test_a_code_is_bound(app: GrantsApp, wrong: dict[str, object]) -> None:
    """And whoever cannot prove that it is theirs can neither use it up nor end what came of it."""
    code = await app.code()
    assert await refused(app, code, **wrong) == "invalid_grant"
    issued = await app.redeem(code)
    assert await refused(app, code, **wrong) == "invalid_grant"
    assert await app.cause(issued.grant.id) is None


async def test_a_client_may_leave_the_redirect_uri_to_pkce(app: GrantsApp) -> None:
    assert (await app.redeem(await app.code(), redirect_uri=None)).grant.user_id == app.user


async def test_a_code_is_good_for_a_minute(app: GrantsApp) -> None:
    first, second = await app.code(), await app.code()
    app.clock.pass_by(seconds=59.9)
    await app.redeem(first)
    app.clock.pass_by(seconds=0.1)
    assert await refused(app, second) == "invalid_grant"


@pytest.mark.parametrize("text", ["", "x", "x" * 43, "x" * 44, "é" * 43, "\0" * 43])
async def test_made_up_codes(app: GrantsApp, text: str) -> None:
    assert await refused(app, Secret(text)) == "invalid_grant"


@pytest.mark.guarantee("G14")
async def test_twenty_redemptions_at_once(app: GrantsApp) -> None:
    """One gets tokens, and those die by the replay."""
    code = await app.code()
    issued, errors = await gathered(*(app.redeem(code) for _ in range(20)))
    assert len(issued) == 1
    assert errors == ["invalid_grant"] * 19
    assert await app.cause(issued[0].grant.id) == "code_replay"
    assert await app.refusal(issued[0].refresh_token) == "invalid_grant"
    assert [event.detail["cause"] for event in await app.events("grant.revoked") if event.detail] == ["code_replay"]


async def test_a_late_replay_ends_the_grant_too(app: GrantsApp) -> None:
    code = await app.code()
    issued = await app.redeem(code)
    app.clock.pass_by(hours=2)
    assert await refused(app, code) == "invalid_grant"
    assert await app.cause(issued.grant.id) == "code_replay"


async def test_somebody_suspended_meanwhile_gets_nothing(app: GrantsApp) -> None:
    for table in ("users", "tenants"):
        code = await app.code()
        await app.execute(f"UPDATE core.{table} SET status = 'suspended'")
        assert await refused(app, code) == "invalid_grant"
        await app.execute(f"UPDATE core.{table} SET status = 'active'")
    assert await app.value("SELECT count(*) FROM auth.grants") == 0


async def test_an_administrator_no_longer_grants_no_administration(app: GrantsApp) -> None:
    await app.execute("UPDATE core.users SET system_role = 'admin'")
    both, only = await app.code(scopes=MCP_SCOPES | {ADMIN_READ}), await app.code(scopes=frozenset({ADMIN_READ}))
    assert (await app.issued(scopes=MCP_SCOPES | {ADMIN_READ})).grant.scopes == MCP_SCOPES | {ADMIN_READ}
    await app.execute("UPDATE core.users SET system_role = 'user'")
    assert (await app.redeem(both)).grant.scopes == MCP_SCOPES
    assert await refused(app, only) == "invalid_scope"


async def test_only_hashes_are_stored(app: GrantsApp) -> None:
    code = await app.code()
    issued = await app.redeem(code)
    for table in ("codes", "grants", "refresh_tokens"):
        stored = str(await app.value(f"SELECT string_agg(t::text, ' ') FROM auth.{table} t"))
        assert code.reveal() not in stored
        assert issued.refresh_token.reveal()[-43:] not in stored


async def test_a_client_has_so_many_grants_of_one_person(app: GrantsApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker.authorization_server.grant_records.MAX_GRANTS", 3)
    made = []
    for _ in range(4):
        app.clock.pass_by(minutes=2)
        made.append(await app.issued())
    assert [await app.cause(one.grant.id) for one in made] == ["superseded", None, None, None]
    await app.redeem(await app.code(client_id="another"), client_id="another")
    await app.issued(user_id=app.tenant.users[1])
    assert len(await app.grants.list_for_user(app.tenant.id, None)) == 5


async def test_what_is_long_over_is_swept(app: GrantsApp) -> None:
    await app.issued()
    assert await app.grants.sweep() == 0
    app.clock.pass_by(days=1, minutes=2)
    assert await app.grants.sweep() == 1
    app.clock.pass_by(days=30)
    assert await app.grants.sweep() == 1
    app.clock.pass_by(days=150)
    assert await app.grants.sweep() == 1
    assert app.clock.now > NOW


@pytest.mark.parametrize(
    ("verifier", "right"),
    [("a" * 42, False), ("a" * 43, True), ("a-._~Z09" * 16, True), ("a" * 129, False), ("a" * 42 + "+", False)],
)
def test_forms_of_verifiers(verifier: str, right: bool) -> None:
    assert authorization_codes.is_verifier(verifier) is right


def test_the_challenge_of_the_specification() -> None:
    """RFC 7636, appendix B."""
    challenge = authorization_codes.compute_code_challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    assert challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    assert authorization_codes.is_challenge(challenge)
    assert not authorization_codes.is_challenge(challenge + "=")
