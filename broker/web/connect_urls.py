"""The addresses of the connect pages, and the order of "connect all my services", which is in the address alone.

A queue in an address carries no authority: it names modules that come next, and each page looks for itself whether the
person may see it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from core.errors import NotFound
from core.names import MODULE_NAME_PATTERN

CONNECT_PATH = "/connect"
CLIENT_DOCUMENTS_PATH = "/connect/-/clients/"
MAX_QUEUED = 50
REFUSAL_STATUS = {"connect_away": 503, "key_away": 503, "key_busy": 429, "key_often": 429}
"""The status of a page that tells of a failure, where it is not that of its kind."""
_SESSION = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NOTHING = "-"


@dataclass(frozen=True, slots=True)
class ConnectQueue:
    """Services still to be connected after this one, the number of all (`of`, 0 without a queue), and the connect
    session that the queue belongs to, if any."""

    rest: tuple[str, ...] = ()
    of: int = 0
    session: str = ""

    @property
    def number(self) -> int:
        """Which one this is, from 1."""
        return self.of - len(self.rest)

    def after(self, done: str = "") -> str:
        """The page that comes next; `done` is a module that was connected just now."""
        if self.session:
            then = ",".join(self.rest) or _NOTHING
            return build_path(get_session_path(self.session), {"then": then, "after": done})
        if not self.rest:
            return build_path(CONNECT_PATH, {"done": done and "connected", "module": done})
        return build_path(
            f"{CONNECT_PATH}/{self.rest[0]}", {**ConnectQueue(self.rest[1:], self.of).to_fields(), "after": done}
        )

    def to_fields(self) -> dict[str, str]:
        """Return the queue as fields of a form or an address."""
        session = {"session": self.session} if self.session else {}
        return {"then": ",".join(self.rest), "of": str(self.of), **session} if self.of else {}


def parse_queue(fields: Mapping[str, str]) -> ConnectQueue:
    """The queue in an address or a form; none where it is none."""
    names = tuple(name for name in fields.get("then", "").split(",") if name)
    number = fields.get("of", "")
    if not number.isdecimal() or len(number) > 2 or len(names) > MAX_QUEUED:
        return ConnectQueue()
    if not all(MODULE_NAME_PATTERN.fullmatch(name) for name in names) or not len(names) < int(number) <= MAX_QUEUED:
        return ConnectQueue()
    session = fields.get("session", "")
    return ConnectQueue(names, int(number), session if _SESSION.fullmatch(session) else "")


def get_session_path(session_id: UUID | str) -> str:
    """Return the path of a connect session's link."""
    return f"{CONNECT_PATH}/-/session/{session_id}"


def list_remaining(fields: Mapping[str, str], waiting: Sequence[str]) -> list[str]:
    """Return the services of a connect session that still wait; after a service that the user has just left, as the
    address says, only those that follow it."""
    if "then" not in fields:
        return list(waiting)
    names = fields["then"].split(",")
    return [module for module in waiting if module in names]


def parse_module(path_params: Mapping[str, Any]) -> str:
    """The module in the path.

    Raises:
        NotFound: it has no such form.
    """
    module: str = path_params["module"]
    if not MODULE_NAME_PATTERN.fullmatch(module):
        raise NotFound("there is no such service for you")
    return module


def parse_role_id(fields: Mapping[str, str]) -> UUID | None:
    """The role that an account shall be shared with.

    Raises:
        NotFound: it is no id.
    """
    if not fields.get("role"):
        return None
    try:
        return UUID(fields["role"])
    except ValueError:
        raise NotFound("there is no such role") from None


def build_path(path: str, parameters: Mapping[str, str]) -> str:
    """A path with those of the parameters that have a value."""
    query = urlencode({name: value for name, value in parameters.items() if value}, safe=",")
    return f"{path}?{query}" if query else path


def build_next_path(module: str, role_id: UUID | None, queue: ConnectQueue, done: str) -> str:
    """Return the path to go on to: the next service of the queue, or the page of this service's result."""
    if queue.of and done == "connected":
        return queue.after(module)
    role = "" if role_id is None else str(role_id)
    return build_path(f"{CONNECT_PATH}/{module}", {"done": done, "role": role, **queue.to_fields()})
