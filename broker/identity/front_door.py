"""Everything that signs people in, put together on the broker's database role."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from broker.identity.admission import Admission
from broker.identity.identities import Identities
from broker.identity.one_time_links import OneTimeLinks
from broker.identity.pending import PendingSignIns
from broker.identity.providers.configured import providers_of
from broker.identity.providers.outgoing import Outgoing
from broker.identity.sessions import Sessions
from broker.identity.settings import ProviderSettings
from broker.identity.sign_in import SignIn
from core.db import Database


@dataclass(frozen=True, slots=True)
class FrontDoor:
    """Build it with :func:`front_door`."""

    sessions: Sessions
    identities: Identities
    links: OneTimeLinks
    admission: Admission
    sign_in: SignIn


def front_door(
    database: Database,
    providers: Iterable[ProviderSettings],
    public_url: str,
    *,
    clock: Callable[[], datetime],
    outgoing: Outgoing | None = None,
) -> FrontDoor:
    """What the settings say, on `database` (the broker's role). Nothing is asked of any provider yet."""
    sessions = Sessions(database, clock=clock)
    identities = Identities(database, clock=clock)
    links = OneTimeLinks(database, sessions, clock=clock)
    admission = Admission(database, identities, sessions, clock=clock)
    sign_in = SignIn(
        database,
        providers_of(providers, outgoing or Outgoing(), clock=clock),
        PendingSignIns(database, clock=clock),
        admission,
        identities,
        links,
        public_url=public_url,
    )
    return FrontDoor(sessions, identities, links, admission, sign_in)
