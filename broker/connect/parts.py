"""What the pages and the API of connecting work with, as one value."""

from dataclasses import dataclass

from broker.connect.connecting import Connecting
from broker.connect.disconnecting import Disconnecting
from broker.connect.finishing import Finishing
from broker.connect.oauth_clients import OAuthClients
from broker.connect.pasted_keys import PastedKeys
from broker.connect.provider_book import ProviderBook
from broker.connect.services import Services
from broker.connect.sessions import ConnectSessions
from broker.vault.credentials import Credentials
from core.db import Database


@dataclass(frozen=True, slots=True)
class ConnectParts:
    """The services of the connect flow."""

    database: Database
    public_url: str
    services: Services
    connecting: Connecting
    finishing: Finishing
    disconnecting: Disconnecting
    keys: PastedKeys
    clients: OAuthClients
    book: ProviderBook
    credentials: Credentials
    sessions: ConnectSessions
