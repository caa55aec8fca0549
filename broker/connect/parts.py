"""What the pages and the API of connecting work with, as one value."""

from dataclasses import dataclass

from broker.connect.added_providers import AddedProviders
from broker.connect.connecting import Connecting
from broker.connect.disconnecting import Disconnecting
from broker.connect.doctor import Doctor
from broker.connect.farewell import VendorFarewell
from broker.connect.finishing import Finishing
from broker.connect.introductions import Introductions
from broker.connect.oauth_clients import OAuthClients
from broker.connect.pasted_keys import PastedKeys
from broker.connect.provider_book import ProviderBook
from broker.connect.services import Services
from broker.connect.sessions import ConnectSessions
from broker.connect.shown_providers import ShownProviders
from broker.providers.discovery import Discovery
from broker.vault.credentials import Credentials
from core.db import Database
from core.limits import CallerLimits


@dataclass(frozen=True, slots=True)
class ConnectParts:
    """The services of the connect flow."""

    database: Database
    public_url: str
    services: Services
    connecting: Connecting
    finishing: Finishing
    disconnecting: Disconnecting
    farewell: VendorFarewell
    keys: PastedKeys
    clients: OAuthClients
    book: ProviderBook
    providers: AddedProviders
    introductions: Introductions
    discovery: Discovery
    drafting: CallerLimits
    shown: ShownProviders
    credentials: Credentials
    sessions: ConnectSessions
    doctor: Doctor
