"""Refresh tokens: rotation, the grace of a lost answer, and the end of a grant whose token was copied."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from broker.authorization_server.refresh_tokens import REFRESH_PREFIX as PREFIX
from core.errors import LimitReached, NotFound
from core.scopes import ADMIN_READ, ADMIN_WRITE, MCP_SCOPES, READ, WRITE
from core.secret import Secret
from tests.broker.authorization_server.grants_rig import ACTOR, GrantsRig, gathered, grants_on
from tests.support.postgres import ScratchDatabase


@pytest.fixture
async def rig(database: ScratchDatabase, make_tenant) -> AsyncIterator[GrantsRig]:
    async with grants_on(database, await make_tenant(users=2)) as made:
        yield made


async def test_every_use_gives_the_next(rig: GrantsRig) -> None:
    token = (await rig.issued()).refresh_token
    seen = {token.reveal()}
    for _ in range(5):  # within one tick of the clock: order is by state, not by time
        token = (await rig.refresh(token)).refresh_token
        seen.add(token.reveal())
    assert len(seen) == 6
    assert await rig.states() == {"live": 1, "previous": 1, "spent": 4}


async def test_the_token_before_counts_until_its_successor_is_used(rig: GrantsRig) -> None:
    first = (await rig.issued()).refresh_token
    lost = (await rig.refresh(first)).refresh_token
    again = (await rig.refresh(first)).refresh_token
    assert await rig.refusal(lost) == "invalid_grant"  # its place was taken, and nothing else follows
    third = (await rig.refresh(again)).refresh_token
    assert await rig.refusal(first) == "invalid_grant"
    assert await rig.refusal(third) == "invalid_grant"


async def test_a_spent_token_ends_the_grant(rig: GrantsRig) -> None:
    issued = await rig.issued()
    second = (await rig.refresh(issued.refresh_token)).refresh_token
    third = (await rig.refresh(second)).refresh_token
    assert await rig.refusal(issued.refresh_token) == "invalid_grant"
    assert await rig.cause(issued.grant.id) == "reuse"
    assert [await rig.refusal(token) for token in (second, third)] == ["invalid_grant"] * 2
    (event,) = await rig.events("grant.revoked")
    assert event.detail is not None
    assert (event.user_id, event.detail["cause"], event.detail["grant"]) == (rig.user, "reuse", str(issued.grant.id))


async def test_a_spent_token_ends_its_own_grant_only(rig: GrantsRig) -> None:
    issued, other = await rig.issued(), await rig.issued()
    await rig.refresh((await rig.refresh(issued.refresh_token)).refresh_token)
    assert await rig.refusal(issued.refresh_token) == "invalid_grant"
    assert await rig.cause(other.grant.id) is None
    await rig.refresh(other.refresh_token)


async def test_the_grace_ends_a_day_after_the_first_use(rig: GrantsRig) -> None:
    issued = await rig.issued()
    for _ in range(24):  # repeating does not prolong it
        await rig.refresh(issued.refresh_token)
        rig.clock.pass_by(hours=1)
    await rig.refresh(issued.refresh_token)
    rig.clock.pass_by(seconds=1)
    assert await rig.refusal(issued.refresh_token) == "invalid_grant"


async def test_a_token_whose_grace_is_over_shows_no_copy(rig: GrantsRig) -> None:
    """A client that lay still for days presents what it has; nobody has used the successor, lost or not."""
    issued = await rig.issued()
    successor = (await rig.refresh(issued.refresh_token)).refresh_token
    rig.clock.pass_by(hours=24, seconds=1)
    assert await rig.refusal(issued.refresh_token) == "invalid_grant"
    assert await rig.cause(issued.grant.id) is None
    assert await rig.events("grant.revoked") == []
    await rig.refresh(successor)  # whoever has it goes on
    assert await rig.refusal(issued.refresh_token) == "invalid_grant"
    assert await rig.cause(issued.grant.id) == "reuse", "from then on it is a copy"


async def test_repetitions_are_counted(rig: GrantsRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker.authorization_server.refresh_tokens.MAX_REPETITIONS", 3)
    issued = await rig.issued()
    last = [await rig.refresh(issued.refresh_token) for _ in range(4)][-1]
    assert await rig.refusal(issued.refresh_token) == "invalid_grant"
    assert await rig.cause(issued.grant.id) is None
    await rig.refresh(last.refresh_token)


async def test_a_client_that_does_nothing_but_refresh(rig: GrantsRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every token that was ever used is kept, so that a copy is known: their number has an end (G17)."""
    monkeypatch.setattr("broker.authorization_server.refresh_tokens.MAX_ROTATIONS_PER_DAY", 5)
    issued = await rig.issued()
    token = issued.refresh_token
    for _ in range(4):
        token = (await rig.refresh(token)).refresh_token
    for _ in range(3):
        with pytest.raises(LimitReached):
            await rig.refresh(token)
    assert await rig.value("SELECT count(*) FROM auth.refresh_tokens") == 5
    assert await rig.cause(issued.grant.id) is None
    await rig.refresh((await rig.issued()).refresh_token)
    rig.clock.pass_by(days=1)
    assert (await rig.refresh(token)).grant == issued.grant, "it was not used up by the refusals"


@pytest.mark.guarantee("G14")
async def test_twenty_uses_at_once(rig: GrantsRig) -> None:
    issued = await rig.issued()
    answers, errors = await gathered(*(rig.refresh(issued.refresh_token) for _ in range(20)))
    assert errors == []
    assert {answer.grant for answer in answers} == {issued.grant}
    assert len({answer.refresh_token.reveal() for answer in answers}) == 20
    assert await rig.cause(issued.grant.id) is None
    assert await rig.states() == {"live": 1, "previous": 1, "replaced": 19}
    outcomes = [await rig.refusal(answer.refresh_token) for answer in answers]
    assert sorted(outcomes) == ["invalid_grant"] * 19 + ["none"]
    assert await rig.cause(issued.grant.id) is None


async def test_twenty_uses_of_a_spent_token_at_once(rig: GrantsRig) -> None:
    issued = await rig.issued()
    await rig.refresh((await rig.refresh(issued.refresh_token)).refresh_token)
    answers, errors = await gathered(*(rig.refresh(issued.refresh_token) for _ in range(20)))
    assert (answers, errors) == ([], ["invalid_grant"] * 20)
    assert len(await rig.events("grant.revoked")) == 1


async def test_a_revocation_among_refreshes(rig: GrantsRig) -> None:
    """Whoever came first: afterwards no token of the grant lives (Keycloak #51312)."""
    for _ in range(5):
        issued = await rig.issued()
        refreshing = [asyncio.create_task(rig.refusal(issued.refresh_token)) for _ in range(6)]
        revoking = asyncio.create_task(rig.grants.revoke(ACTOR, rig.tenant.id, issued.grant.id, "user"))
        refreshing += [asyncio.create_task(rig.refusal(issued.refresh_token)) for _ in range(6)]
        await asyncio.gather(revoking, *refreshing)
        assert await rig.cause(issued.grant.id) == "user"
        assert await rig.refusal(issued.refresh_token) == "invalid_grant"
        assert await rig.cause(issued.grant.id) == "user"


async def test_an_unused_token_lives_for_thirty_days_and_a_used_one_for_180(rig: GrantsRig) -> None:
    unused, used = await rig.issued(), await rig.issued()
    token = used.refresh_token
    for _ in range(6):
        rig.clock.pass_by(days=29, hours=23)
        token = (await rig.refresh(token)).refresh_token
    assert await rig.refusal(unused.refresh_token) == "invalid_grant"
    assert await rig.cause(unused.grant.id) is None
    rig.clock.pass_by(hours=6)
    assert await rig.refusal(token) == "invalid_grant"


async def test_of_another_client(rig: GrantsRig) -> None:
    """It gets nothing, and cannot end the grant either."""
    issued = await rig.issued()
    await rig.refresh((await rig.refresh(issued.refresh_token)).refresh_token)
    assert await rig.refusal(issued.refresh_token, client="https://other.example/metadata.json") == "invalid_grant"
    assert await rig.cause(issued.grant.id) is None


@pytest.mark.parametrize("text", ["", "x", PREFIX, PREFIX + "x" * 43, PREFIX + "é" * 43, "x" * 5000])
async def test_made_up_tokens(rig: GrantsRig, text: str) -> None:
    assert await rig.refusal(Secret(text)) == "invalid_grant"


async def test_scopes_are_narrowed_for_once_and_never_widened(rig: GrantsRig) -> None:
    token = (await rig.issued(scopes=frozenset({READ}))).refresh_token
    for wider in ({WRITE}, {READ, WRITE}, {ADMIN_READ}):
        assert await rig.refusal(token, frozenset(wider)) == "invalid_scope"
    assert await rig.states() == {"live": 1}  # a wrong wish costs the token nothing
    token = (await rig.issued(scopes=MCP_SCOPES)).refresh_token
    narrow = await rig.refresh(token, frozenset({READ}))
    assert narrow.grant.scopes == {READ}
    assert (await rig.refresh(narrow.refresh_token)).grant.scopes == MCP_SCOPES


async def test_administration_ends_with_the_role(rig: GrantsRig) -> None:
    await rig.execute("UPDATE core.users SET system_role = 'admin'")
    issued = await rig.issued(scopes=MCP_SCOPES | {ADMIN_WRITE})
    await rig.execute("UPDATE core.users SET system_role = 'user'")
    narrowed = await rig.refresh(issued.refresh_token)
    assert narrowed.grant.scopes == MCP_SCOPES
    assert await rig.refusal(narrowed.refresh_token, frozenset({ADMIN_READ})) == "invalid_scope"


async def test_suspension_costs_no_token(rig: GrantsRig) -> None:
    token = (await rig.issued()).refresh_token
    for table in ("users", "tenants"):
        await rig.execute(f"UPDATE core.{table} SET status = 'suspended'")
        assert await rig.refusal(token) == "invalid_grant"
        await rig.execute(f"UPDATE core.{table} SET status = 'active'")
    await rig.refresh(token)


async def test_revocation_is_within_one_tenant_one_user_and_one_client(rig: GrantsRig, make_tenant) -> None:
    other = await make_tenant()
    issued = await rig.issued()
    for tenant_id, user_id in ((other.id, None), (rig.tenant.id, rig.tenant.users[1])):
        with pytest.raises(NotFound):
            await rig.grants.revoke(ACTOR, tenant_id, issued.grant.id, "user", user_id=user_id)
    assert not await rig.grants.revoke_by_client(rig.tenant.id, issued.grant.id, "another")
    assert await rig.grants.list_for_user(other.id, None) == []
    generation = await rig.value("SELECT value FROM core.generations WHERE tenant_id = $1", rig.tenant.id)
    await rig.grants.revoke(ACTOR, rig.tenant.id, issued.grant.id, "user", user_id=rig.user)
    assert await rig.value("SELECT value FROM core.generations WHERE tenant_id = $1", rig.tenant.id) != generation
    assert await rig.refusal(issued.refresh_token) == "invalid_grant"
    with pytest.raises(NotFound):
        await rig.grants.revoke(ACTOR, rig.tenant.id, issued.grant.id, "user")
