"""Everything that signs people in, put together on the broker's database role."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from broker.identity.admission import Admission
from broker.identity.browser_sessions import Sessions
from broker.identity.identities import Identities
from broker.identity.one_time_links import OneTimeLinks
from broker.identity.provider_registry import IdentityProviderRegistry, StoredProviders
from broker.identity.settings import ProviderSettings
from broker.identity.sign_in_service import SignInService
from broker.identity.sign_in_state import PendingSignIns
from core.db import Database
from core.http.json_documents import JsonDocumentFetcher


@dataclass(frozen=True, slots=True)
class IdentityServices:
    """Build it with :func:`build_identity_services`."""

    sessions: Sessions
    identities: Identities
    links: OneTimeLinks
    admission: Admission
    sign_in: SignInService


def build_identity_services(
    database: Database,
    providers: Iterable[ProviderSettings],
    public_url: str,
    *,
    clock: Callable[[], datetime],
    http: JsonDocumentFetcher,
    stored: StoredProviders | None = None,
) -> IdentityServices:
    """Build the sign-in services on `database` (the broker's role); sends no request to any provider. `providers` are
    those of the file, whose hosts `http` may reach; `stored` are those of the database.
    """
    sessions = Sessions(database, clock=clock)
    identities = Identities(database, clock=clock)
    links = OneTimeLinks(database, sessions, clock=clock)
    admission = Admission(database, identities, sessions, clock=clock)
    registry = IdentityProviderRegistry(providers, http, stored, clock=clock)
    sign_in = SignInService(
        database,
        registry,
        PendingSignIns(database, clock=clock),
        admission,
        identities,
        links,
        public_url=public_url,
    )
    return IdentityServices(sessions, identities, links, admission, sign_in)
