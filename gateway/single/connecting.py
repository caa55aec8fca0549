"""What connects vendor accounts, put together: the only place that knows both the vault and the modules' vendors."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import uuid4

from broker.connect.accounts import AccountRows
from broker.connect.added_providers import AddedProviders
from broker.connect.connecting import Connecting
from broker.connect.doctor import Doctor
from broker.connect.finishing import Finishing
from broker.connect.flows import Flows
from broker.connect.introductions import Introductions
from broker.connect.leftovers import Leftovers
from broker.connect.offers import Offered
from broker.connect.parts import ConnectParts
from broker.connect.pasted_keys import KeyCheck, KeyRefused, KeyTrouble, PastedKeys
from broker.connect.provider_book import ProviderBook
from broker.connect.redeeming import Redeeming
from broker.connect.services import Services
from broker.connect.sessions import ConnectSessions
from broker.connect.shown_providers import ShownProviders
from broker.providers.catalogue import own_providers
from broker.providers.discovery import Discovery
from broker.vault.vault import Vault
from broker.vendor_oauth.account import VendorAccounts
from broker.vendor_oauth.token_endpoint import VendorTokenEndpoint
from broker.vendor_oauth.wire import VendorHttp
from core.db import Database
from core.errors import Invalid
from core.limits import CallerLimits
from core.outbound.documents import Documents
from core.secret import Secret
from core.settings import Settings
from gateway.catalogue import Catalogue
from gateway.service_settings import parsed
from gateway.single.disconnecting import ends_of
from gateway.single.gateway import vendor_sessions
from gateway.single.trust_zone import TrustZone
from gateway.single.vendor_account import account_of, place_of
from gateway.vendor_session.headers import authorization
from gateway.vendor_session.session import VendorSessions
from modules.kit import ToolError, VendorProblem

DRAFTS = 0.2, 20, 2
"""Of one tenant, servers that are looked at for a draft: a second over time, at once, and at the same time."""

TROUBLES: Mapping[str, KeyTrouble] = {
    "unauthorized": "not_accepted",
    "forbidden": "forbidden",
    "rate_limited": "busy",
    "unavailable": "away",
    "too_large": "away",
}


@contextlib.asynccontextmanager
async def connect_parts(zone: TrustZone, settings: Settings, catalogue: Catalogue) -> AsyncGenerator[ConnectParts]:
    """Everything that the connect pages and their API work with, and the way to the vendors for as long."""
    async with vendor_sessions(settings) as sessions:
        check, modules = _KeyCheck(catalogue, sessions), offered(catalogue)
        parts = assembled(
            zone.database,
            zone.vault,
            settings.public_url,
            modules,
            zone.http,
            check,
            zone.documents,
            clock=zone.clock,
        )
        left = Leftovers(zone.database, parts.disconnecting)
        sweeping = asyncio.create_task(left.run(), name="left accounts")
        try:
            yield parts
        finally:
            sweeping.cancel()
            await asyncio.wait([sweeping])


def offered(catalogue: Catalogue) -> tuple[Offered, ...]:
    """The modules that have a vendor: all that the connect flow knows of modules."""
    return tuple(
        Offered(
            module.name,
            module.title,
            {entry.tool.name: entry.tool.hints.read_only for entry in catalogue.tools[module.name]},
            module.vendor.base_url,
        )
        for module in catalogue.modules
        if module.vendor is not None
    )


def assembled(
    database: Database,
    vault: Vault,
    public_url: str,
    modules: Sequence[Offered],
    http: VendorHttp,
    check: KeyCheck,
    documents: Documents,
    *,
    clock: Callable[[], datetime],
) -> ConnectParts:
    """The parts; `database` is in the broker's role."""
    book, rows = ProviderBook(own_providers()), AccountRows(vault)
    ends = ends_of(database, vault, http, clock=clock)
    clients, credentials, disconnecting = ends.clients, ends.credentials, ends.disconnecting
    flows = Flows(database, vault, clock=clock)
    introductions = Introductions(clients, http, public_url)
    services = Services(database, clients, book, modules, introductions)
    finishing = Finishing(database, rows, flows, book, disconnecting, services)
    vendor = VendorAccounts(http)
    redeeming = Redeeming(
        database,
        services=services,
        flows=flows,
        clients=clients,
        book=book,
        rows=rows,
        endpoint=VendorTokenEndpoint(http),
        vendor=vendor,
        finishing=finishing,
    )
    connecting = Connecting(
        database,
        public_url,
        services=services,
        flows=flows,
        book=book,
        redeeming=redeeming,
        introductions=introductions,
    )
    providers = AddedProviders(database, book, documents.allow, [one.name for one in modules])
    keys = PastedKeys(database, services, credentials, disconnecting, vendor, check)
    return ConnectParts(
        database=database,
        public_url=public_url,
        services=services,
        connecting=connecting,
        finishing=finishing,
        disconnecting=disconnecting,
        farewell=ends.farewell,
        keys=keys,
        clients=clients,
        book=book,
        providers=providers,
        introductions=introductions,
        discovery=Discovery(documents),
        drafting=CallerLimits(*DRAFTS, clock=time.monotonic),
        shown=ShownProviders(database, book, providers, public_url),
        credentials=credentials,
        sessions=ConnectSessions(database, services, clock=clock),
        doctor=Doctor(book, modules),
    )


class _KeyCheck:
    """Implements :class:`broker.connect.pasted_keys.KeyCheck` by the request that the module names."""

    def __init__(self, catalogue: Catalogue, sessions: VendorSessions) -> None:
        self._modules = {module.name: module for module in catalogue.modules}
        self._sessions = sessions

    async def __call__(self, module: str, settings: Mapping[str, Any], secret: Secret) -> str:
        api = self._modules[module].vendor
        assert api is not None, "only modules with a vendor are offered"
        try:
            authorization(api.scheme, secret)
        except VendorProblem:
            raise KeyRefused("form") from None
        try:
            known = parsed(api.settings, settings)
            return await account_of(self._sessions, api, known, secret, str(uuid4()), origins=place_of(api, known))
        except Invalid:
            raise KeyRefused("setup") from None
        except ToolError as problem:
            kind = problem.kind if isinstance(problem, VendorProblem) else "unavailable"
            raise KeyRefused(TROUBLES.get(kind, "setup")) from None
