"""Authorization codes: good for one client, one redirect URI, one verifier, one minute and one use."""

from collections.abc import AsyncIterator

import pytest

from broker.authorization_server import authorization_codes
from broker.authorization_server.errors import OAuthError
from core.scopes import ADMIN_READ, MCP_SCOPES, READ
from core.secret import Secret
from tests.broker.authorization_server.grants_rig import NOW, REDIRECT, GrantsRig, gathered, grants_on
from tests.support.postgres import ScratchDatabase


@pytest.fixture
async def rig(database: ScratchDatabase, make_tenant) -> AsyncIterator[GrantsRig]:
    async with grants_on(database, await make_tenant(users=2)) as made:
        yield made


async def refused(rig: GrantsRig, code: Secret, **changes: object) -> str:
    with pytest.raises(OAuthError) as error:
        await rig.redeem(code, **changes)
    return error.value.code


async def test_a_code_becomes_a_grant(rig: GrantsRig) -> None:
    issued = await rig.issued(scopes=frozenset({READ}))
    grant = issued.grant
    assert (grant.tenant_id, grant.user_id, grant.scopes) == (rig.tenant.id, rig.user, {READ})
    assert (await rig.refresh(issued.refresh_token)).grant == grant
    (entry,) = await rig.grants.list_for_user(rig.tenant.id, rig.user)
    assert (entry.id, entry.client_name, entry.scopes) == (grant.id, "Client", (READ,))
    (event,) = await rig.events("grant.created")
    assert (event.user_id, event.credential_id) == (rig.user, str(grant.id))


WRONG = [
    {"client_id": "https://other.example/metadata.json"},
    {"redirect_uri": REDIRECT + "/"},
    {"redirect_uri": "https://evil.example/callback"},
    {"verifier": "w" * 43},
    {"verifier": authorization_codes.compute_code_challenge("v" * 43)},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
async def test_a_code_is_bound(rig: GrantsRig, wrong: dict[str, object]) -> None:
    """And whoever cannot prove that it is theirs can neither use it up nor end what came of it."""
    code = await rig.code()
    assert await refused(rig, code, **wrong) == "invalid_grant"
    issued = await rig.redeem(code)
    assert await refused(rig, code, **wrong) == "invalid_grant"
    assert await rig.cause(issued.grant.id) is None


async def test_a_client_may_leave_the_redirect_uri_to_pkce(rig: GrantsRig) -> None:
    assert (await rig.redeem(await rig.code(), redirect_uri=None)).grant.user_id == rig.user


async def test_a_code_is_good_for_a_minute(rig: GrantsRig) -> None:
    first, second = await rig.code(), await rig.code()
    rig.clock.pass_by(seconds=59.9)
    await rig.redeem(first)
    rig.clock.pass_by(seconds=0.1)
    assert await refused(rig, second) == "invalid_grant"


@pytest.mark.parametrize("text", ["", "x", "x" * 43, "x" * 44, "é" * 43, "\0" * 43])
async def test_made_up_codes(rig: GrantsRig, text: str) -> None:
    assert await refused(rig, Secret(text)) == "invalid_grant"


@pytest.mark.guarantee("G14")
async def test_twenty_redemptions_at_once(rig: GrantsRig) -> None:
    """One gets tokens, and those die by the replay."""
    code = await rig.code()
    issued, errors = await gathered(*(rig.redeem(code) for _ in range(20)))
    assert len(issued) == 1
    assert errors == ["invalid_grant"] * 19
    assert await rig.cause(issued[0].grant.id) == "code_replay"
    assert await rig.refusal(issued[0].refresh_token) == "invalid_grant"
    assert [event.detail["cause"] for event in await rig.events("grant.revoked") if event.detail] == ["code_replay"]


async def test_a_late_replay_ends_the_grant_too(rig: GrantsRig) -> None:
    code = await rig.code()
    issued = await rig.redeem(code)
    rig.clock.pass_by(hours=2)
    assert await refused(rig, code) == "invalid_grant"
    assert await rig.cause(issued.grant.id) == "code_replay"


async def test_somebody_suspended_meanwhile_gets_nothing(rig: GrantsRig) -> None:
    for table in ("users", "tenants"):
        code = await rig.code()
        await rig.execute(f"UPDATE core.{table} SET status = 'suspended'")
        assert await refused(rig, code) == "invalid_grant"
        await rig.execute(f"UPDATE core.{table} SET status = 'active'")
    assert await rig.value("SELECT count(*) FROM auth.grants") == 0


async def test_an_administrator_no_longer_grants_no_administration(rig: GrantsRig) -> None:
    await rig.execute("UPDATE core.users SET system_role = 'admin'")
    both, only = await rig.code(scopes=MCP_SCOPES | {ADMIN_READ}), await rig.code(scopes=frozenset({ADMIN_READ}))
    assert (await rig.issued(scopes=MCP_SCOPES | {ADMIN_READ})).grant.scopes == MCP_SCOPES | {ADMIN_READ}
    await rig.execute("UPDATE core.users SET system_role = 'user'")
    assert (await rig.redeem(both)).grant.scopes == MCP_SCOPES
    assert await refused(rig, only) == "invalid_scope"


async def test_only_hashes_are_stored(rig: GrantsRig) -> None:
    code = await rig.code()
    issued = await rig.redeem(code)
    for table in ("codes", "grants", "refresh_tokens"):
        stored = str(await rig.value(f"SELECT string_agg(t::text, ' ') FROM auth.{table} t"))
        assert code.reveal() not in stored
        assert issued.refresh_token.reveal()[-43:] not in stored


async def test_a_client_has_so_many_grants_of_one_person(rig: GrantsRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker.authorization_server.grant_records.MAX_GRANTS", 3)
    made = []
    for _ in range(4):
        rig.clock.pass_by(minutes=2)
        made.append(await rig.issued())
    assert [await rig.cause(one.grant.id) for one in made] == ["superseded", None, None, None]
    await rig.redeem(await rig.code(client_id="another"), client_id="another")
    await rig.issued(user_id=rig.tenant.users[1])
    assert len(await rig.grants.list_for_user(rig.tenant.id, None)) == 5


async def test_what_is_long_over_is_swept(rig: GrantsRig) -> None:
    await rig.issued()
    assert await rig.grants.sweep() == 0
    rig.clock.pass_by(days=1, minutes=2)
    assert await rig.grants.sweep() == 1
    rig.clock.pass_by(days=30)
    assert await rig.grants.sweep() == 1
    rig.clock.pass_by(days=150)
    assert await rig.grants.sweep() == 1
    assert rig.clock.now > NOW


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
