"""Refresh tokens: rotation, the grace of a lost answer, and the end of a grant whose token was copied."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from broker.authorization_server.refresh_tokens import REFRESH_PREFIX as PREFIX
from core.errors import LimitReached, NotFound
from core.scopes import ADMIN_READ, ADMIN_WRITE, MCP_SCOPES, READ, WRITE
from core.secret import Secret
from tests.broker.authorization_server.grants_app import ACTOR, GrantsApp, gathered, grants_on
from tests.support.postgres import ScratchDatabase


@pytest.fixture
async def app(database: ScratchDatabase, make_tenant) -> AsyncIterator[GrantsApp]:
    async with grants_on(database, await make_tenant(users=2)) as made:
        yield made


async def test_every_use_gives_the_next(app: GrantsApp) -> None:
    token = (await app.issued()).refresh_token
    seen = {token.reveal()}
    for _ in range(5):  # within one tick of the clock: order is by state, not by time
        token = (await app.refresh(token)).refresh_token
        seen.add(token.reveal())
    assert len(seen) == 6
    assert await app.states() == {"live": 1, "previous": 1, "spent": 4}


async def test_the_token_before_counts_until_its_successor_is_used(app: GrantsApp) -> None:
    first = (await app.issued()).refresh_token
    lost = (await app.refresh(first)).refresh_token
    again = (await app.refresh(first)).refresh_token
    assert await app.refusal(lost) == "invalid_grant"  # its place was taken, and nothing else follows
    third = (await app.refresh(again)).refresh_token
    assert await app.refusal(first) == "invalid_grant"
    assert await app.refusal(third) == "invalid_grant"


async def test_a_spent_token_ends_the_grant(app: GrantsApp) -> None:
    issued = await app.issued()
    second = (await app.refresh(issued.refresh_token)).refresh_token
    third = (await app.refresh(second)).refresh_token
    assert await app.refusal(issued.refresh_token) == "invalid_grant"
    assert await app.cause(issued.grant.id) == "reuse"
    assert [await app.refusal(token) for token in (second, third)] == ["invalid_grant"] * 2
    (event,) = await app.events("grant.revoked")
    assert event.detail is not None
    assert (event.user_id, event.detail["cause"], event.detail["grant"]) == (app.user, "reuse", str(issued.grant.id))


async def test_a_spent_token_ends_its_own_grant_only(app: GrantsApp) -> None:
    issued, other = await app.issued(), await app.issued()
    await app.refresh((await app.refresh(issued.refresh_token)).refresh_token)
    assert await app.refusal(issued.refresh_token) == "invalid_grant"
    assert await app.cause(other.grant.id) is None
    await app.refresh(other.refresh_token)


async def test_the_grace_ends_a_day_after_the_first_use(app: GrantsApp) -> None:
    issued = await app.issued()
    for _ in range(24):  # repeating does not prolong it
        await app.refresh(issued.refresh_token)
        app.clock.pass_by(hours=1)
    await app.refresh(issued.refresh_token)
    app.clock.pass_by(seconds=1)
    assert await app.refusal(issued.refresh_token) == "invalid_grant"


async def test_a_token_whose_grace_is_over_shows_no_copy(app: GrantsApp) -> None:
    """A client that lay still for days presents what it has; nobody has used the successor, lost or not."""
    issued = await app.issued()
    successor = (await app.refresh(issued.refresh_token)).refresh_token
    app.clock.pass_by(hours=24, seconds=1)
    assert await app.refusal(issued.refresh_token) == "invalid_grant"
    assert await app.cause(issued.grant.id) is None
    assert await app.events("grant.revoked") == []
    await app.refresh(successor)  # whoever has it goes on
    assert await app.refusal(issued.refresh_token) == "invalid_grant"
    assert await app.cause(issued.grant.id) == "reuse", "from then on it is a copy"


async def test_repetitions_are_counted(app: GrantsApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker.authorization_server.refresh_tokens.MAX_REPETITIONS", 3)
    issued = await app.issued()
    last = [await app.refresh(issued.refresh_token) for _ in range(4)][-1]
    assert await app.refusal(issued.refresh_token) == "invalid_grant"
    assert await app.cause(issued.grant.id) is None
    await app.refresh(last.refresh_token)


async def test_a_client_that_does_nothing_but_refresh(app: GrantsApp, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every token that was ever used is kept, so that a copy is known: their number has an end (G17)."""
    monkeypatch.setattr("broker.authorization_server.refresh_tokens.MAX_ROTATIONS_PER_DAY", 5)
    issued = await app.issued()
    token = issued.refresh_token
    for _ in range(4):
        token = (await app.refresh(token)).refresh_token
    for _ in range(3):
        with pytest.raises(LimitReached):
            await app.refresh(token)
    assert await app.value("SELECT count(*) FROM auth.refresh_tokens") == 5
    assert await app.cause(issued.grant.id) is None
    await app.refresh((await app.issued()).refresh_token)
    app.clock.pass_by(days=1)
    assert (await app.refresh(token)).grant == issued.grant, "it was not used up by the refusals"


@pytest.mark.guarantee("G14")
async def test_twenty_uses_at_once(app: GrantsApp) -> None:
    issued = await app.issued()
    answers, errors = await gathered(*(app.refresh(issued.refresh_token) for _ in range(20)))
    assert errors == []
    assert {answer.grant for answer in answers} == {issued.grant}
    assert len({answer.refresh_token.reveal() for answer in answers}) == 20
    assert await app.cause(issued.grant.id) is None
    assert await app.states() == {"live": 1, "previous": 1, "replaced": 19}
    outcomes = [await app.refusal(answer.refresh_token) for answer in answers]
    assert sorted(outcomes) == ["invalid_grant"] * 19 + ["none"]
    assert await app.cause(issued.grant.id) is None


async def test_twenty_uses_of_a_spent_token_at_once(app: GrantsApp) -> None:
    issued = await app.issued()
    await app.refresh((await app.refresh(issued.refresh_token)).refresh_token)
    answers, errors = await gathered(*(app.refresh(issued.refresh_token) for _ in range(20)))
    assert (answers, errors) == ([], ["invalid_grant"] * 20)
    assert len(await app.events("grant.revoked")) == 1


async def test_a_revocation_among_refreshes(app: GrantsApp) -> None:
    """Whoever came first: afterwards no token of the grant lives (Keycloak #51312)."""
    for _ in range(5):
        issued = await app.issued()
        refreshing = [asyncio.create_task(app.refusal(issued.refresh_token)) for _ in range(6)]
        revoking = asyncio.create_task(app.grants.revoke(ACTOR, app.tenant.id, issued.grant.id, "user"))
        refreshing += [asyncio.create_task(app.refusal(issued.refresh_token)) for _ in range(6)]
        await asyncio.gather(revoking, *refreshing)
        assert await app.cause(issued.grant.id) == "user"
        assert await app.refusal(issued.refresh_token) == "invalid_grant"
        assert await app.cause(issued.grant.id) == "user"


async def test_an_unused_token_lives_for_thirty_days_and_a_used_one_for_180(app: GrantsApp) -> None:
    unused, used = await app.issued(), await app.issued()
    token = used.refresh_token
    for _ in range(6):
        app.clock.pass_by(days=29, hours=23)
        token = (await app.refresh(token)).refresh_token
    assert await app.refusal(unused.refresh_token) == "invalid_grant"
    assert await app.cause(unused.grant.id) is None
    app.clock.pass_by(hours=6)
    assert await app.refusal(token) == "invalid_grant"


async def test_of_another_client(app: GrantsApp) -> None:
    """It gets nothing, and cannot end the grant either."""
    issued = await app.issued()
    await app.refresh((await app.refresh(issued.refresh_token)).refresh_token)
    assert await app.refusal(issued.refresh_token, client="https://other.example/metadata.json") == "invalid_grant"
    assert await app.cause(issued.grant.id) is None


@pytest.mark.no_canary("the prefix of such tokens is a word of ours")
@pytest.mark.parametrize("text", ["", "x", PREFIX, PREFIX + "x" * 43, PREFIX + "é" * 43, "x" * 5000])
async def test_made_up_tokens(app: GrantsApp, text: str) -> None:
    assert await app.refusal(Secret(text)) == "invalid_grant"


async def test_scopes_are_narrowed_for_once_and_never_widened(app: GrantsApp) -> None:
    token = (await app.issued(scopes=frozenset({READ}))).refresh_token
    for wider in ({WRITE}, {READ, WRITE}, {ADMIN_READ}):
        assert await app.refusal(token, frozenset(wider)) == "invalid_scope"
    assert await app.states() == {"live": 1}  # a wrong wish costs the token nothing
    token = (await app.issued(scopes=MCP_SCOPES)).refresh_token
    narrow = await app.refresh(token, frozenset({READ}))
    assert narrow.grant.scopes == {READ}
    assert (await app.refresh(narrow.refresh_token)).grant.scopes == MCP_SCOPES


async def test_administration_ends_with_the_role(app: GrantsApp) -> None:
    await app.execute("UPDATE core.users SET system_role = 'admin'")
    issued = await app.issued(scopes=MCP_SCOPES | {ADMIN_WRITE})
    await app.execute("UPDATE core.users SET system_role = 'user'")
    narrowed = await app.refresh(issued.refresh_token)
    assert narrowed.grant.scopes == MCP_SCOPES
    assert await app.refusal(narrowed.refresh_token, frozenset({ADMIN_READ})) == "invalid_scope"


async def test_suspension_costs_no_token(app: GrantsApp) -> None:
    token = (await app.issued()).refresh_token
    for table in ("users", "tenants"):
        await app.execute(f"UPDATE core.{table} SET status = 'suspended'")
        assert await app.refusal(token) == "invalid_grant"
        await app.execute(f"UPDATE core.{table} SET status = 'active'")
    await app.refresh(token)


async def test_revocation_is_within_one_tenant_one_user_and_one_client(app: GrantsApp, make_tenant) -> None:
    other = await make_tenant()
    issued = await app.issued()
    for tenant_id, user_id in ((other.id, None), (app.tenant.id, app.tenant.users[1])):
        with pytest.raises(NotFound):
            await app.grants.revoke(ACTOR, tenant_id, issued.grant.id, "user", user_id=user_id)
    assert not await app.grants.revoke_by_client(app.tenant.id, issued.grant.id, "another")
    assert await app.grants.list_for_user(other.id, None) == []
    generation = await app.value("SELECT value FROM core.generations WHERE tenant_id = $1", app.tenant.id)
    await app.grants.revoke(ACTOR, app.tenant.id, issued.grant.id, "user", user_id=app.user)
    assert await app.value("SELECT value FROM core.generations WHERE tenant_id = $1", app.tenant.id) != generation
    assert await app.refusal(issued.refresh_token) == "invalid_grant"
    with pytest.raises(NotFound):
        await app.grants.revoke(ACTOR, app.tenant.id, issued.grant.id, "user")
