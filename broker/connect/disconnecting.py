"""Ending what was connected: the vendor is told, and everything that leads to it is shredded."""

from dataclasses import dataclass
from uuid import UUID

from broker.connect.accounts import AccountRows, Grant
from broker.connect.held import Held
from broker.connect.oauth_clients import OAuthClients
from broker.connect.provider_book import ProviderBook
from broker.providers.model import Provider
from broker.vault.credentials import Credentials, Owner
from broker.vault.envelope import Unreadable
from broker.vendor_oauth.exchange import TokenEndpoint
from core.audit.event import Kind
from core.db import Database, UnitOfWork
from core.directory.actor import Actor, recorded
from core.secret import Secret


@dataclass(frozen=True, slots=True)
class Ended:
    """What was ended. `revoked` says that the vendor knows the grant no more; where it does not, `manage_url` is where
    its person can end it by hand, if there is such a page."""

    modules: tuple[str, ...]
    revoked: bool
    manage_url: str = ""


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

    async def disconnect(self, actor: Actor, tenant_id: UUID, held: Held, owner: Owner) -> Ended:
        """End a credential: of type B the account behind it, and so every module's that uses it.

        Raises:
            core.errors.NotFound: it is gone already.
        """
        if held.account_id is None:
            await self._credentials.remove(actor, tenant_id, held.module, owner)
            return Ended((held.module,), revoked=False)
        ended = await self.end(tenant_id, held.account_id)
        async with self._database.tenant(tenant_id) as work:
            whose = {"user" if owner.kind == "personal" else "role": str(owner.id)}
            detail = {"provider": held.provider, "modules": " ".join(ended.modules), "account": held.name, **whose}
            await recorded(
                work,
                actor,
                Kind.ACCOUNT_DISCONNECTED,
                credential=str(held.account_id),
                revoked=int(ended.revoked),
                **detail,
            )
        return ended

    async def end(self, tenant_id: UUID, account_id: UUID) -> Ended:
        """Tell the vendor, then shred, whether or not the vendor has heard it. A grant that another account of the
        tenant has in common is not revoked: that would end the other too. Of tokens that came while the vendor was
        told of others, it is told again."""
        provider = None
        async with self._database.tenant(tenant_id) as work:
            grant = await self._grant(work, account_id)
            if grant is not None and not await self._rows.is_shared_grant(work, account_id):
                provider = await self._book.find(work, grant.provider)
        revoked = provider is not None and grant is not None and await self._told(tenant_id, provider, grant)
        async with self._database.tenant(tenant_id) as work:
            latest = await self._grant(work, account_id)
            modules = await self._rows.remove(work, account_id)
        if provider is not None and grant is not None and latest is not None and not _same_tokens(grant, latest):
            revoked = await self._told(tenant_id, provider, latest)
        return Ended(tuple(modules), revoked, (provider and provider.manage_url) or "")

    async def _grant(self, work: UnitOfWork, account_id: UUID) -> Grant | None:
        """None where it was changed in the database: nothing can be told to the vendor."""
        try:
            return await self._rows.grant(work, account_id)
        except Unreadable:
            return None

    async def _told(self, tenant_id: UUID, provider: Provider, grant: Grant) -> bool:
        async with self._database.tenant(tenant_id) as work:
            chosen = await self._clients.find(work, grant.oauth_client_id)
            if chosen is None or (grant.access is None and grant.refresh is None):
                return False
            client = await self._clients.opened(work, chosen)
        access = grant.access or Secret("")
        return (await self._endpoint.revoke(provider, client, access=access, refresh=grant.refresh)).done


def _same_tokens(one: Grant, other: Grant) -> bool:
    return (one.access, one.refresh) == (other.access, other.refresh)
