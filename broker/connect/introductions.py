"""How MCPist becomes a client of a vendor where no administrator has registered one (MCP's order: a registered client,
then the URL of a document about us, then registration by ourselves).

Both ways make an ordinary OAuth client of the tenant, once, when the first person connects: from then on it is found,
refused, replaced and removed like a registered one.
"""

import time
from collections.abc import Callable
from typing import Literal
from urllib.parse import urlsplit
from uuid import UUID

from broker.connect.addresses import client_document_url, redirect_uri
from broker.connect.oauth_clients import OAuthClients
from broker.connect.refusals import ConnectRefused, key_of
from broker.providers.model import Provider
from broker.refresh.single_flight import SingleFlight
from broker.vendor_oauth import reasons
from broker.vendor_oauth.exchange import Failed
from broker.vendor_oauth.registration import Registered, client_document, document_client, register, unregister
from broker.vendor_oauth.wire import VendorHttp
from core.directory.actor import Actor

Introduction = Literal["", "document", "registration"]
Refusal = tuple[str, str]
"""The text for the person, and the word for the audit log."""

PAUSE_SECONDS = 30.0
MOST_PAUSES = 1_000


class Introductions:
    """Those of all tenants, in one process."""

    def __init__(
        self, clients: OAuthClients, http: VendorHttp, public_url: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clients = clients
        self._http = http
        self._public_url = public_url
        self._clock = clock
        self._running = SingleFlight[tuple[UUID, str], Refusal | None]()
        self._refused: dict[tuple[UUID, str], tuple[float, Refusal]] = {}

    def way(self, provider: Provider) -> Introduction:
        """How we can become a client there."""
        return introduction(provider, self._public_url)

    @property
    def has_documents(self) -> bool:
        """Whether vendors can read our documents."""
        return has_documents(self._public_url)

    def document(self, tenant_id: UUID, provider: str) -> dict[str, object]:
        """What we say of ourselves at :func:`broker.connect.addresses.client_document_url`. It is the same for every
        tenant and provider that there could be, and tells nobody which there are."""
        url = client_document_url(self._public_url, tenant_id, provider)
        return client_document(url, self._name, [redirect_uri(self._public_url, provider)])

    async def introduce(self, actor: Actor, tenant_id: UUID, provider: Provider) -> None:
        """Make the tenant's client at a provider that has a :meth:`way`, unless there is one by now.

        Raises:
            ConnectRefused: the vendor does not let us, or cannot be asked.
        """
        if self.way(provider) == "document":
            client = document_client(client_document_url(self._public_url, tenant_id, provider.id))
            await self._clients.introduced(actor, tenant_id, provider.id, client, "document")
            return
        key = tenant_id, provider.id
        refusal = self._lately(key) or await self._running.join(key, lambda: self._registered(actor, key, provider))
        if refusal is not None:
            raise ConnectRefused(*refusal, title=provider.title)

    async def _registered(self, actor: Actor, key: tuple[UUID, str], provider: Provider) -> Refusal | None:
        made = await self._lasting(provider)
        if isinstance(made, Registered):
            if not await self._clients.introduced(actor, key[0], provider.id, made.client, "registration"):
                await unregister(self._http, made)  # another process was first
            return None
        if len(self._refused) >= MOST_PAUSES:
            self._refused.clear()
        self._refused[key] = self._clock() + PAUSE_SECONDS, made
        return made

    async def _lasting(self, provider: Provider) -> Registered | Refusal:
        """A client whose secret does not end, for nobody would be there to renew it, and every account that it has
        connected would end with it. A server whose secrets do may have clients without one."""
        oauth = provider.oauth
        assert oauth is not None
        assert oauth.registration_url is not None
        back = [redirect_uri(self._public_url, provider.id)]
        for method in dict.fromkeys((oauth.client_auth, "none" if oauth.pkce == "S256" else oauth.client_auth)):
            made = await register(self._http, oauth.registration_url, method, name=self._name, redirect_uris=back)
            if isinstance(made, Failed):
                return key_of(made), made.reason
            if made.client.secret is None or made.secret_expires_at is None:
                return made
            await unregister(self._http, made)
        return "connect_setup", reasons.SECRET_EXPIRED

    def _lately(self, key: tuple[UUID, str]) -> Refusal | None:
        """The refusal of a moment ago: a person who tries again at once does not make the vendor say it again."""
        until, refusal = self._refused.get(key, (0.0, None))
        return refusal if self._clock() < until else None

    @property
    def _name(self) -> str:
        return f"MCPist at {urlsplit(self._public_url).netloc}"


def introduction(provider: Provider, public_url: str) -> Introduction:
    """How MCPist can become a client of a provider by itself; "" where an administrator has to register one. A provider
    whose settings somebody has to fill in needs one, too."""
    oauth = provider.oauth
    if oauth is None or any(setting.default is None for setting in provider.settings.values()):
        return ""
    if oauth.client_documents and has_documents(public_url):
        return "document"
    return "registration" if oauth.registration_url else ""


def has_documents(public_url: str) -> bool:
    """Documents about clients are read by https only."""
    return public_url.startswith("https://")
