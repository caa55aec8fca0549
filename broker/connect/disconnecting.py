"""Ending what was connected, wherever that is asked for: the vendor is told, and all that leads to it is shredded.

It is an intent first: the account is marked as ending and committed, so that nothing uses it any more and a process
that dies leaves it to the next (:class:`broker.connect.leftovers.Leftovers`). A vendor that cannot be told stops
nothing; whoever asked is told, and the audit log keeps it.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from broker.connect.accounts import AccountRows, Grant
from broker.connect.ended import Cause, Ended, Told
from broker.connect.ending import Ending, is_shared_grant, mark_ending, remove
from broker.connect.held import Held, held_of
from broker.connect.oauth_clients import OAuthClients
from broker.connect.provider_book import ProviderBook
from broker.providers.model import Provider
from broker.providers.templates import filled_url, settings_of
from broker.vault.credentials import Credentials
from broker.vault.owners import Owner
from broker.vendor_oauth.exchange import TokenEndpoint, VendorClient
from core.audit.event import Kind
from core.db import Database, UnitOfWork
from core.directory.actor import Actor, recorded
from core.errors import Invalid, MCPistError, NotFound
from core.secret import Secret

log = logging.getLogger(__name__)


class Disconnecting:
    """Ends accounts and pasted keys of all tenants."""

    def __init__(
        self,
        database: Database,
        rows: AccountRows,
        clients: OAuthClients,
        book: ProviderBook,
        endpoint: TokenEndpoint,
        credentials: Credentials,
    ) -> None:
        self._database = database
        self._rows = rows
        self._clients = clients
        self._book = book
        self._endpoint = endpoint
        self._credentials = credentials

    def check_original(self) -> None:
        """Raises:
        broker.vault.deployment_guard.NotAdopted: this is a copy of the deployment, which tells no vendor anything.
        """
        self._rows.check_original()

    async def disconnect(self, actor: Actor, tenant_id: UUID, held: Held, owner: Owner) -> Ended:
        """End a credential: of type B the account behind it, and so every module's that uses it.

        Raises:
            NotFound: it is gone already.
            broker.vault.deployment_guard.NotAdopted: this is a copy of the deployment: the original goes on.
        """
        self.check_original()
        if held.account_id is None:
            await self._credentials.remove(actor, tenant_id, held.module, owner)
            return Ended((held.module,), "key", account=held.name)
        ended = await self.end(actor, tenant_id, held.account_id, "asked")
        if ended is None:
            raise NotFound("this is disconnected already")
        return ended

    async def disconnect_module(self, actor: Actor, tenant_id: UUID, module: str, owner: Owner) -> Ended:
        """End what an owner has for a module.

        Raises:
            NotFound: they have nothing.
        """
        async with self._database.tenant(tenant_id) as work:
            held = await held_of(work, [module], owner)
        if not held:
            raise NotFound(f"there is no such credential for {module[:63]!r}; `mcpist credential list` shows them")
        return await self.disconnect(actor, tenant_id, held[0], owner)

    async def end(
        self,
        actor: Actor,
        tenant_id: UUID,
        account_id: UUID,
        cause: Cause,
        *,
        with_others: Sequence[UUID] = (),
        only: str | None = None,
    ) -> Ended | None:
        """End one account; None where it is gone already. `with_others` end at the same time, so that a grant that
        they have in common is nobody's any more; `only` ends it if that is its reason to be disabled. Of tokens that
        came while the vendor was told of others, it is told again."""
        async with self._database.tenant(tenant_id) as work:
            ending = await mark_ending(work, account_id, only)
        if ending is None:
            return None
        held = await self._in_hand(tenant_id, ending, with_others)
        told = held.told or await self._told(held)
        latest = await self._latest(tenant_id, held)
        if latest is not None:
            told = await self._told(latest)
        return await self._shredded(actor, tenant_id, ending, told, _manage_url(held), cause)

    async def _latest(self, tenant_id: UUID, held: "_InHand") -> "_InHand | None":
        """The tokens that a refresh under way has brought meanwhile, if any."""
        if held.grant is None:
            return None
        async with self._database.tenant(tenant_id) as work:
            try:
                grant = await self._rows.grant(work, held.grant.account_id)
            except MCPistError:
                return None
        return None if grant is None or _same_tokens(grant, held.grant) else replace(held, grant=grant)

    async def end_unused(self, actor: Actor, tenant_id: UUID, account_id: UUID) -> Ended | None:
        """End an account that something else has taken the place of, unless a credential still leads to it."""
        async with self._database.tenant(tenant_id) as work:
            unused = await self._rows.orphans(work, [account_id])
        return await self.end(actor, tenant_id, account_id, "replaced") if unused else None

    async def shred(self, actor: Actor, tenant_id: UUID, account_id: UUID, cause: Cause) -> Ended | None:
        """End one account without a word to its vendor, for which there was no time; None where it is gone already."""
        async with self._database.tenant(tenant_id) as work:
            ending = await mark_ending(work, account_id, None)
            provider = await self._book.find(work, ending.provider) if ending else None
        if ending is None:
            return None
        return await self._shredded(actor, tenant_id, ending, "late", _manage_url(_InHand(provider)), cause)

    async def _shredded(
        self, actor: Actor, tenant_id: UUID, ending: Ending, told: Told, manage_url: str, cause: Cause
    ) -> Ended | None:
        async with self._database.tenant(tenant_id) as work:
            modules = await remove(work, ending.id)
            if modules is None:
                return None
            ended = Ended(tuple(modules), told, manage_url, ending.provider, ending.name)
            await _recorded(work, actor, ending, ended, cause)
        return ended

    async def _in_hand(self, tenant_id: UUID, ending: Ending, with_others: Sequence[UUID]) -> "_InHand":
        """What the vendor has to be told, or why it is not."""
        async with self._database.tenant(tenant_id) as work:
            provider = await self._book.find(work, ending.provider)
            chosen = await self._clients.find(work, ending.oauth_client_id)
            if provider is None or chosen is None:
                return _InHand(provider, told="unreadable")
            client = VendorClient(chosen.client_id, None, chosen.auth_method, chosen.settings)
            if await is_shared_grant(work, ending.id, with_others):
                return _InHand(provider, client, told="shared")
            try:
                client = await self._clients.opened(work, chosen)
                return _InHand(provider, client, await self._rows.grant(work, ending.id))
            except MCPistError:  # changed in the database, without its key, or in a copy that may not tell anybody
                return _InHand(provider, client, told="unreadable")

    async def _told(self, held: "_InHand") -> Told:
        provider, client, grant = held.provider, held.client, held.grant
        if provider is None or client is None or grant is None or (grant.access is None and grant.refresh is None):
            return "unreadable"
        access = grant.access or Secret("")
        revocation = await self._endpoint.revoke(provider, client, access=access, refresh=grant.refresh)
        if revocation.done:
            return "revoked"
        if revocation.exchange is None:
            return "no_way"
        log.warning("a vendor was not told that a grant is over", extra={"provider": provider.id})
        return "unreachable"


@dataclass(frozen=True, slots=True, repr=False)
class _InHand:
    provider: Provider | None
    client: VendorClient | None = None
    grant: Grant | None = None
    told: Told | None = None


def _same_tokens(one: Grant, other: Grant) -> bool:
    return (one.access, one.refresh) == (other.access, other.refresh)


def _manage_url(held: _InHand) -> str:
    """Where the person can end the grant by hand, "" where nobody knows."""
    provider, client = held.provider, held.client
    if provider is None or not provider.manage_url:
        return ""
    try:
        return filled_url(provider.manage_url, settings_of(provider, client.settings if client else {}))
    except Invalid:
        return ""


async def _recorded(work: UnitOfWork, actor: Actor, ending: Ending, ended: Ended, cause: Cause) -> None:
    detail = {"provider": ending.provider, "modules": " ".join(ended.modules), "account": ending.name, "cause": cause}
    kind, told = Kind.ACCOUNT_DISCONNECTED, {"revoked": int(ended.revoked)}
    await recorded(
        work, actor, kind, credential=str(ending.id), vendor=ended.told, **detail, **told, **ending.owner.recorded
    )
