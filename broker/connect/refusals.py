"""How a connection can fail, as keys of the messages (`problem.<key>`), and which failures of a vendor are which."""

from broker.connect.people import Person
from broker.vendor_oauth.exchange import ErrorClass, Failed
from core.audit.event import Kind
from core.db import Database
from core.directory.actor import recorded

_OURS = frozenset({ErrorClass.SERVICE})


class ConnectRefused(Exception):
    """Nothing was connected. `key` names the text for the person, `cause` is a word for the audit log; neither holds
    anything that a vendor or a browser has said. `module` is where the person can start again."""

    def __init__(self, key: str, cause: str = "", *, title: str = "", module: str = "") -> None:
        super().__init__(key)
        self.key = key
        self.cause = cause or key
        self.title = title
        self.module = module


async def refused_and_recorded(
    database: Database, person: Person, refused: ConnectRefused, provider: str
) -> ConnectRefused:
    """The refusal, written to the audit log: these are what an attack looks like."""
    async with database.tenant(person.tenant_id) as work:
        detail = {"provider": provider[:40], "cause": refused.cause}
        await recorded(work, person.actor, Kind.CONNECT_REFUSED, **detail)
    return refused


def key_of(failed: Failed) -> str:
    """The text for what a token endpoint has answered."""
    if failed.cls in _OURS:
        return "connect_setup"
    if failed.cls is ErrorClass.PERMANENT:
        return "connect_code"
    return "connect_away"
