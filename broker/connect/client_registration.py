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

from broker.connections.connect_methods import ConnectError, get_message_key
from broker.connections.oauth_client_store import OAuthClientStore
from broker.oauth_client.dynamic_registration import (
    RegisteredClient,
    build_client_document,
    build_document_client,
    register_client,
    unregister_client,
)
from broker.oauth_client.types import VendorFailure
from broker.oauth_client.vendor_http import VendorHttpClient
from broker.providers import error_reasons
from broker.providers.schema import Provider
from core.concurrency.single_flight import SingleFlight
from core.directory.audit_trail import Actor


def build_redirect_uri(public_url: str, provider: str) -> str:
    """Build the redirect URI of a provider; each has its own (threat-model.md §2, row 7)."""
    return f"{public_url}/connect/callback/{provider}"


def build_client_document_url(public_url: str, tenant_id: UUID, provider: str) -> str:
    """The URL of our client metadata document for a tenant at a provider, which is our client id there. Each tenant has
    its own: a vendor that ends a person's older grants to the same client must not end another tenant's."""
    return f"{public_url}/connect/-/clients/{tenant_id}/{provider}.json"


RegistrationMethod = Literal["", "document", "registration"]
RegistrationRefusal = tuple[str, str]
"""The text for the person, and the word for the audit log."""

RETRY_PAUSE_SECONDS = 30.0
MAX_REMEMBERED_REFUSALS = 1_000


class AutomaticClientRegistration:
    """Those of all tenants, in one process."""

    def __init__(
        self,
        clients: OAuthClientStore,
        http: VendorHttpClient,
        public_url: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clients = clients
        self._http = http
        self._public_url = public_url
        self._clock = clock
        self._running = SingleFlight[tuple[UUID, str], RegistrationRefusal | None]()
        self._refused: dict[tuple[UUID, str], tuple[float, RegistrationRefusal]] = {}

    def choose_method(self, provider: Provider) -> RegistrationMethod:
        """How we can become a client there."""
        return choose_registration_method(provider, self._public_url)

    @property
    def has_documents(self) -> bool:
        """Check whether vendors can fetch our client ID metadata documents."""
        return serves_documents(self._public_url)

    def build_document(self, tenant_id: UUID, provider: str) -> dict[str, object]:
        """The client metadata document at :func:`broker.connect.client_registration.build_client_document_url`.

        The same for every tenant and provider that could exist, so it discloses none that does.
        """
        url = build_client_document_url(self._public_url, tenant_id, provider)
        return build_client_document(url, self._name, [build_redirect_uri(self._public_url, provider)])

    async def ensure_registered(self, actor: Actor, tenant_id: UUID, provider: Provider) -> None:
        """Make the tenant's client at a provider that has a :meth:`way`, unless there is one by now.

        Raises:
            ConnectError: the vendor does not let us, or cannot be asked.
        """
        if self.choose_method(provider) == "document":
            client = build_document_client(build_client_document_url(self._public_url, tenant_id, provider.id))
            await self._clients.add_automatic(actor, tenant_id, provider.id, client, "document")
            return
        key = tenant_id, provider.id
        refusal = self._find_recent_refusal(key) or await self._running.join(
            key, lambda: self._register_and_store(actor, key, provider)
        )
        if refusal is not None:
            raise ConnectError(*refusal, title=provider.title)

    async def _register_and_store(
        self, actor: Actor, key: tuple[UUID, str], provider: Provider
    ) -> RegistrationRefusal | None:
        registered = await self._register_permanent(provider)
        if isinstance(registered, RegisteredClient):
            if not await self._clients.add_automatic(actor, key[0], provider.id, registered.client, "registration"):
                await unregister_client(self._http, registered)  # another process was first
            return None
        if len(self._refused) >= MAX_REMEMBERED_REFUSALS:
            self._refused.clear()
        self._refused[key] = self._clock() + RETRY_PAUSE_SECONDS, registered
        return registered

    async def _register_permanent(self, provider: Provider) -> RegisteredClient | RegistrationRefusal:
        """A client whose secret does not end, for nobody would be there to renew it, and every account that it has
        connected would end with it. A server whose secrets do may have clients without one."""
        oauth = provider.oauth
        assert oauth is not None
        assert oauth.registration_url is not None
        back = [build_redirect_uri(self._public_url, provider.id)]
        for method in dict.fromkeys((oauth.client_auth, "none" if oauth.pkce == "S256" else oauth.client_auth)):
            registered = await register_client(
                self._http, oauth.registration_url, method, name=self._name, redirect_uris=back
            )
            if isinstance(registered, VendorFailure):
                return get_message_key(registered), registered.reason
            if registered.client.secret is None or registered.secret_expires_at is None:
                return registered
            await unregister_client(self._http, registered)
        return "connect_setup", error_reasons.SECRET_EXPIRED

    def _find_recent_refusal(self, key: tuple[UUID, str]) -> RegistrationRefusal | None:
        """The refusal of a moment ago: a person who tries again at once does not make the vendor say it again."""
        until, refusal = self._refused.get(key, (0.0, None))
        return refusal if self._clock() < until else None

    @property
    def _name(self) -> str:
        return f"MCPist at {urlsplit(self._public_url).netloc}"


def choose_registration_method(provider: Provider, public_url: str) -> RegistrationMethod:
    """How MCPist can become a client of a provider by itself; "" where an administrator has to register one. A provider
    whose settings somebody has to fill in needs one, too."""
    oauth = provider.oauth
    if oauth is None or any(setting.default is None for setting in provider.settings.values()):
        return ""
    if oauth.client_documents and serves_documents(public_url):
        return "document"
    return "registration" if oauth.registration_url else ""


def serves_documents(public_url: str) -> bool:
    """Documents about clients are read by https only."""
    return public_url.startswith("https://")
