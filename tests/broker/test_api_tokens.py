"""API tokens at the Broker interface: what counts, what does not, and that nothing tells a client the difference."""

import hmac
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from broker.identity.api_tokens import ApiTokens
from broker.identity.peppers import Peppers
from broker.interface import CredentialRefusal, RefusalReason, Verifier
from broker.vault.key_wrapping import load_or_create
from core.caller import Credential
from core.db import Database, UnitOfWork
from core.directory.audit_trail import Actor
from core.errors import Invalid, NotFound
from core.secret import Secret
from core.token_format import generate_token
from tests.support.postgres import MadeTenant, ScratchDatabase

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
ACTOR = Actor("test")


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def tokens(database: ScratchDatabase, clock: Clock) -> AsyncIterator[ApiTokens]:
    async with database.open("mcpist_broker") as broker:
        yield ApiTokens(broker, Peppers("k1", {"k1": b"p" * 32}), clock=clock)


@pytest.fixture
def broker(tokens: ApiTokens) -> Verifier:
    return tokens


@pytest.fixture
async def tenant(make_tenant) -> MadeTenant:
    return await make_tenant(users=2)


async def made(tokens: ApiTokens, tenant: MadeTenant, **options: object) -> tuple[str, Secret]:
    return await tokens.create(ACTOR, tenant.id, tenant.users[0], "mine", **options)  # type: ignore[arg-type]


async def set_column(database: ScratchDatabase, sql: str, *args: object) -> None:
    async with database.admin_connection() as admin:
        await admin.execute(sql, *args)


async def test_a_new_token_speaks_for_its_user(broker: Verifier, tokens: ApiTokens, tenant: MadeTenant) -> None:
    token_id, token = await made(tokens, tenant, read_only=True, scopes=["mcp:read"])
    verdict = await broker.verify(token)
    assert isinstance(verdict, Credential)
    assert (verdict.id, verdict.tenant_id, verdict.user_id) == (token_id, tenant.id, tenant.users[0])
    assert (verdict.scopes, verdict.read_only, verdict.kind) == (frozenset({"mcp:read"}), True, "api_token")


async def test_reasons(
    database: ScratchDatabase, broker: Verifier, tokens: ApiTokens, tenant: MadeTenant, clock: Clock
) -> None:
    """The audit log tells the refusals apart; the caller of `verify` gets a Refused every time."""

    async def reason(token: Secret) -> RefusalReason:
        verdict = await broker.verify(token)
        assert isinstance(verdict, CredentialRefusal)
        return verdict.reason

    token_id, token = await made(tokens, tenant)
    _, unknown = generate_token()
    assert await reason(unknown) is RefusalReason.UNKNOWN
    assert await reason(Secret("mcpist_nonsense")) is RefusalReason.UNKNOWN

    _, expiring = await made(tokens, tenant, expires_at=NOW + timedelta(hours=1))
    clock.now = NOW + timedelta(hours=1)
    assert await reason(expiring) is RefusalReason.EXPIRED

    await set_column(database, "UPDATE core.users SET status = 'suspended' WHERE id = $1", tenant.users[0])
    assert await reason(token) is RefusalReason.USER_SUSPENDED
    await set_column(database, "UPDATE core.users SET status = 'active'")
    await set_column(database, "UPDATE core.tenants SET status = 'suspended'")
    assert await reason(token) is RefusalReason.TENANT_SUSPENDED
    await set_column(database, "UPDATE core.tenants SET status = 'active'")

    await tokens.revoke(ACTOR, tenant.id, token_id)
    assert await reason(token) is RefusalReason.REVOKED
    await set_column(database, "UPDATE auth.api_tokens SET secret_hmac = sha256('other'::bytea)")
    assert await reason(token) is RefusalReason.WRONG_SECRET


async def test_a_refusal_names_whose_token_it_was(broker: Verifier, tokens: ApiTokens, tenant: MadeTenant) -> None:
    token_id, token = await made(tokens, tenant)
    await tokens.revoke(ACTOR, tenant.id, token_id)
    assert await broker.verify(token) == CredentialRefusal(RefusalReason.REVOKED, tenant.id, tenant.users[0], token_id)


async def test_only_a_hash_is_stored(database: ScratchDatabase, tokens: ApiTokens, tenant: MadeTenant) -> None:
    _, token = await made(tokens, tenant)
    async with database.admin_connection() as admin:
        stored = str(await admin.fetch("SELECT a::text FROM auth.api_tokens a"))
    assert token.reveal()[19:62] not in stored


async def test_unknown_and_known_tokens_take_the_same_steps(
    broker: Verifier, tokens: ApiTokens, tenant: MadeTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The structure behind the constant time: one look-up, one statement, one hash and one comparison each, whether the
    id is known or not (threat-model.md §2, row 32)."""
    token_id, _ = await made(tokens, tenant)
    steps: list[str] = []
    for place, name in ((hmac, "digest"), (hmac, "compare_digest"), (Database, "lookup"), (UnitOfWork, "fetchrow")):
        real = getattr(place, name)

        def counted(*given: Any, _real: Any = real, _name: str = name, **named: Any) -> Any:
            steps.append(_name)
            return _real(*given, **named)

        monkeypatch.setattr(place, name, counted)

    async def taken(one: Secret) -> list[str]:
        steps.clear()
        assert isinstance(await broker.verify(one), CredentialRefusal)
        return list(steps)

    wrong, unknown = generate_token(token_id)[1], generate_token()[1]
    assert await taken(unknown) == await taken(wrong) == ["lookup", "fetchrow", "digest", "compare_digest"]


async def test_another_pepper_refuses_it(
    database: ScratchDatabase, tokens: ApiTokens, tenant: MadeTenant, clock: Clock
) -> None:
    _, token = await made(tokens, tenant)
    async with database.open("mcpist_broker") as other:
        for peppers in (Peppers("k1", {"k1": b"q" * 32}), Peppers("k2", {"k2": b"p" * 32})):
            verdict = await ApiTokens(other, peppers, clock=clock).verify(token)
            assert isinstance(verdict, CredentialRefusal)
            assert verdict.reason is RefusalReason.WRONG_SECRET


async def test_tokens_are_listed_and_revoked_within_their_tenant_only(
    tokens: ApiTokens, tenant: MadeTenant, make_tenant
) -> None:
    other = await make_tenant()
    token_id, _ = await made(tokens, tenant)
    assert [one.id for one in await tokens.list(tenant.id)] == [token_id]
    assert await tokens.list(other.id) == []
    assert await tokens.list(tenant.id, tenant.users[1]) == []
    with pytest.raises(NotFound) as foreign:
        await tokens.revoke(ACTOR, other.id, token_id)
    with pytest.raises(NotFound) as made_up:
        await tokens.revoke(ACTOR, other.id, "A" * 12)
    assert str(foreign.value).replace(token_id, "A" * 12) == str(made_up.value)
    assert (await tokens.list(tenant.id))[0].revoked_at is None


async def test_a_token_for_another_tenant_s_user_cannot_be_made(
    tokens: ApiTokens, tenant: MadeTenant, make_tenant
) -> None:
    other = await make_tenant()
    with pytest.raises(NotFound):
        await tokens.create(ACTOR, tenant.id, other.users[0], "theirs")


@pytest.mark.parametrize(
    "options",
    [
        {"scopes": ["admin:all"]},
        {"scopes": ["admin:read"]},  # a user's, who is no administrator
        {"scopes": ["mcp:read", "admin:write"]},
        {"scopes": []},
        {"expires_at": NOW},
        {"name": ""},
        {"name": "x" * 101},
    ],
)
async def test_wrong_wishes_are_refused(tokens: ApiTokens, tenant: MadeTenant, options: dict[str, object]) -> None:
    name = str(options.pop("name", "mine"))
    with pytest.raises(Invalid):
        await tokens.create(ACTOR, tenant.id, tenant.users[0], name, **options)  # type: ignore[arg-type]
    assert await tokens.list(tenant.id) == []


async def test_last_use_is_known_to_the_minute(
    broker: Verifier, tokens: ApiTokens, tenant: MadeTenant, clock: Clock
) -> None:
    _, token = await made(tokens, tenant)
    for elapsed, expected in ((0, 0), (30, 0), (61, 61)):
        clock.now = NOW + timedelta(seconds=elapsed)
        await broker.verify(token)
        assert (await tokens.list(tenant.id))[0].last_used_at == NOW + timedelta(seconds=expected)


async def test_generation_rises_with_a_revocation_and_not_with_use(
    database: ScratchDatabase, broker: Verifier, tokens: ApiTokens, tenant: MadeTenant
) -> None:
    async def generation(tenant_id: UUID) -> int:
        async with database.admin_connection() as admin:
            return await admin.fetchval("SELECT value FROM core.generations WHERE tenant_id = $1", tenant_id)

    token_id, token = await made(tokens, tenant)
    before = await generation(tenant.id)
    verdict = await broker.verify(token)
    assert isinstance(verdict, Credential)
    assert verdict.generation == before == await generation(tenant.id)
    await tokens.revoke(ACTOR, tenant.id, token_id)
    assert await generation(tenant.id) == before + 1


def test_the_pepper_file_is_made_once_and_read_by_nobody_else(tmp_path: Path) -> None:
    path = tmp_path / "peppers.json"
    made_now = load_or_create(path)
    assert load_or_create(path).keys == made_now.keys
    assert path.stat().st_mode & 0o077 == 0
    path.chmod(0o640)
    with pytest.raises(Invalid, match="chmod 600"):
        load_or_create(path)


@pytest.mark.parametrize("text", ["", "{}", '{"active": "a", "keys": {}}', '{"active": "a", "keys": {"a": "YQ=="}}'])
def test_a_damaged_pepper_file_says_what_to_do(tmp_path: Path, text: str) -> None:
    path = tmp_path / "peppers.json"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(Invalid, match="restore it"):
        load_or_create(path)
