"""Accounts that go while the vendor is asked: what it grants then is given back, and no token lives on unknown."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from broker.connect.account_writer import AccountWriter, UnconfirmedAccount
from broker.connections.account_repository import AccountGrant, replace_grant
from broker.connections.account_snapshot import AccessToken, TokenUnavailable, UnavailableReason
from broker.connections.oauth_client_store import OAuthClientStore
from broker.connections.stored_credentials import list_owner_credentials
from broker.disconnect.disconnect_service import DisconnectService
from broker.oauth_client.types import (
    OAuthClientConfig,
    TokenResponse,
    TokenResult,
    TokenSet,
    VendorRevocation,
    allow_sending,
)
from broker.providers.catalogue import ProviderRegistry
from broker.providers.schema import Provider, RefreshRules
from broker.vault.credential_store import CredentialOwner, CredentialStore
from broker.vault.origin_policy import OriginPolicy
from core.directory.audit_trail import Actor
from core.secret import Secret
from tests.broker.refresh.endpoints import Scripted, exchange
from tests.broker.refresh.refresh_app import FixedProviders, RefreshApp, now
from tests.broker.refresh.vendor import HOUR

URLS = {"authorize_url": "https://vendor.test/authorize", "token_url": "https://vendor.test/token"}
PROVIDER = Provider.model_validate({"id": "vendor", "title": "Vendor", "oauth": URLS})
CLIENT = OAuthClientConfig("client", Secret("cs-000008-made-up"))
NON_ROTATING = RefreshRules(profile="non_rotating")


def tokens(number: int, *, refresh: bool = True) -> TokenSet:
    made = Secret(f"rt-{number:08}-made-up") if refresh else None
    return TokenSet(Secret(f"at-{number:08}-made-up"), made, float(HOUR), None)


class Vendor(Scripted):
    """Its answers arrive when the test lets them; it notes what it was told to revoke, and does `meanwhile` first."""

    def __init__(self) -> None:
        super().__init__(TokenResponse(tokens(2), exchange()))
        self.asked = asyncio.Event()
        self.go = asyncio.Event()
        self.revoked: list[tuple[str, str | None]] = []
        self.away = False
        self.meanwhile: Callable[[], Awaitable[Any]] | None = None

    async def refresh(
        self,
        provider: Provider,
        client: OAuthClientConfig,
        refresh: Secret,
        *,
        may_send: Callable[[], bool] = allow_sending,
    ) -> TokenResult:
        answer = await super().refresh(provider, client, refresh, may_send=may_send)
        self.asked.set()
        await self.go.wait()
        return answer

    async def revoke(  # type: ignore[override]
        self, provider: Provider, client: OAuthClientConfig, *, access: Secret, refresh: Secret | None
    ) -> VendorRevocation:
        if self.away:
            raise RuntimeError("whatever it is")
        self.revoked.append((access.reveal(), refresh and refresh.reveal()))
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            await meanwhile()
        return VendorRevocation(True, exchange())


@dataclass
class PendingRefresh:
    """One account that is being refreshed."""

    app: RefreshApp
    vendor: Vendor
    account: UUID
    asking: "asyncio.Task[AccessToken | TokenUnavailable]"

    async def answer(self) -> AccessToken | TokenUnavailable:
        self.vendor.go.set()
        return await self.asking

    async def another(self, user: int, whose: str) -> UUID:
        account = await self.app.link(PROVIDER, CLIENT, tokens(7), user=user)
        await self.app.execute("UPDATE vault.accounts SET vendor_account_id = $2 WHERE id = $1", account, whose)
        return account


async def asking(app: RefreshApp, whose: str = "") -> PendingRefresh:
    account = await app.link(PROVIDER, CLIENT, tokens(1))
    await app.execute("UPDATE vault.accounts SET vendor_account_id = $2 WHERE id = $1", account, whose)
    await app.ahead(HOUR + 10)
    vendor = Vendor()
    broker = app.another(endpoint=vendor, providers=FixedProviders([PROVIDER]))
    task = asyncio.create_task(broker.get_access_token(app.tenant.id, account))
    await vendor.asked.wait()
    return PendingRefresh(app, vendor, account, task)


async def test_what_comes_for_a_disconnected_account_is_given_back(app: RefreshApp) -> None:
    pending = await asking(app)
    await app.execute("DELETE FROM vault.accounts")
    assert await pending.answer() == TokenUnavailable(UnavailableReason.MISSING)
    assert pending.vendor.revoked == [("at-00000002-made-up", "rt-00000002-made-up")]


async def test_what_comes_for_a_grant_that_has_a_successor_is_not(app: RefreshApp) -> None:
    """The vendor may have one grant for both: ending it would end the new one."""
    pending = await asking(app, "ada")
    owner, client = CredentialOwner("personal", app.tenant.users[0]), app.clients[PROVIDER.id]
    async with app.database.tenant(app.tenant.id) as work:
        grant = AccountGrant(PROVIDER.id, client, owner, tokens(5), RefreshRules(), vendor_account_id="ada")
        await replace_grant(work, app.vault, pending.account, grant)
    assert isinstance(await pending.answer(), AccessToken)
    assert pending.vendor.revoked == []


@pytest.mark.parametrize(("whose", "other", "given_back"), [("ada", "ada", False), ("", "", False), ("a", "b", True)])
async def test_nor_where_another_account_stands_on_the_same_grant(
    app: RefreshApp, whose: str, other: str, given_back: bool
) -> None:
    pending = await asking(app, whose)
    await pending.another(0, other)
    await app.execute("DELETE FROM vault.accounts WHERE id = $1", pending.account)
    assert await pending.answer() == TokenUnavailable(UnavailableReason.MISSING)
    assert bool(pending.vendor.revoked) is given_back


async def test_a_vendor_that_cannot_be_told_keeps_nobody_from_their_answer(app: RefreshApp) -> None:
    pending = await asking(app)
    pending.vendor.away = True
    await app.execute("DELETE FROM vault.accounts")
    assert await pending.answer() == TokenUnavailable(UnavailableReason.MISSING)


async def test_a_refresh_that_ends_between_telling_and_shredding_is_told_too(app: RefreshApp) -> None:
    """GitHub: the refresh has ended the token that the vendor was told of, and so the grant lives on by the new one."""
    pending = await asking(app, "ada")
    book = ProviderRegistry(FixedBook())  # type: ignore[arg-type]
    rows, clients = AccountWriter(app.vault), OAuthClientStore(app.database, app.vault, book)
    credentials = CredentialStore(app.database, app.vault, clock=now)
    disconnecting = DisconnectService(app.database, rows, clients, book, pending.vendor, credentials)
    pending.vendor.meanwhile = pending.answer
    ended = await disconnecting.end_account(Actor("tests"), app.tenant.id, pending.account, "asked")
    assert ended is not None
    assert ended.revoked
    assert pending.vendor.revoked == [
        ("at-00000001-made-up", "rt-00000001-made-up"),
        ("at-00000002-made-up", "rt-00000002-made-up"),
    ]
    assert await app.count("vault.accounts") == 0


class FixedBook:
    """The providers that come with the product, of this test."""

    known = {PROVIDER.id: PROVIDER}  # noqa: RUF012


@pytest.mark.parametrize(
    ("before", "after", "changed", "rules", "kept"),
    [
        ("ada", "ada", "", NON_ROTATING, True),
        ("ada", "eve", "", NON_ROTATING, False),
        ("", "", "", NON_ROTATING, False),
        ("", "ada", "", NON_ROTATING, False),
        ("ada", "", "", NON_ROTATING, False),
        ("ada", "ada", "status = 'needs_reauth', reason = 'revoked'", NON_ROTATING, False),
        ("ada", "ada", "uncertain = true", NON_ROTATING, True),
        ("ada", "ada", "uncertain = true", RefreshRules(), False),
        ("ada", "ada", "lease_owner = id, lease_until = now()", RefreshRules(), False),
        ("ada", "ada", "", RefreshRules(), True),
    ],
)
async def test_whose_refresh_token_goes_on_with_a_new_grant(
    app: RefreshApp, before: str, after: str, changed: str, rules: RefreshRules, kept: bool
) -> None:
    account = await app.link(PROVIDER, CLIENT, tokens(1))
    found = await app.link(PROVIDER, CLIENT, tokens(2, refresh=False))
    await app.execute("UPDATE vault.accounts SET vendor_account_id = $2 WHERE id = $1", account, before)
    if changed:
        await app.execute(f"UPDATE vault.accounts SET {changed} WHERE id = $1", account)
    rows, owner = AccountWriter(app.vault), CredentialOwner("personal", app.tenant.users[0])
    async with app.database.tenant(app.tenant.id) as work:
        await rows.link_credentials(work, {"kiosk": ()}, owner, account, "ada")
        (held,) = await list_owner_credentials(work, OriginPolicy({}), ["kiosk"], owner)
        new = UnconfirmedAccount(found, "ada", after, (), {})
        await rows.renew(work, held, owner, new, rules, {})
        grant = await rows.load_grant(work, account)
    assert grant is not None
    assert grant.access_token is not None
    assert grant.access_token.reveal() == "at-00000002-made-up"
    assert (grant.refresh_token is not None) is kept
