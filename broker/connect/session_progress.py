"""A connect session as it is told: the modules, how far each is, and what that makes of the whole."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from core.db import Row

ModuleState = Literal["waiting", "done", "failed"]
State = Literal["open", "done", "failed", "cancelled", "expired"]


@dataclass(frozen=True, slots=True)
class Wish:
    """What shall be connected: these modules, or with None all that the person has and that need it. `role_id` is whom
    it is shared with; `again` wants a new connection where there is a good one; `return_path` is a path of ours."""

    modules: Sequence[str] | None = None
    role_id: UUID | None = None
    again: bool = False
    return_path: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """How one module stands. `cause` is a fixed word; `account` is "" until it is done."""

    module: str
    state: ModuleState
    cause: str
    account: str


@dataclass(frozen=True, slots=True)
class ConnectSession:
    """A session and how far it is. It is `failed` when nothing waits and something was tried in vain."""

    id: UUID
    role_id: UUID | None
    role: str
    state: State
    services: tuple[Progress, ...]
    return_path: str
    created_at: datetime
    expires_at: datetime

    @property
    def waiting(self) -> tuple[str, ...]:
        """The modules that are not connected yet, the failed ones too: a person may try once more."""
        return tuple(one.module for one in self.services if one.state != "done")


def progress(name: str, held: Row | None, before: Mapping[str, int], failures: Mapping[str, str]) -> Progress:
    if held is not None and held["connected"] and held["version"] != before.get(name):
        return Progress(name, "done", "", held["account"])
    return Progress(name, "failed" if name in failures else "waiting", failures.get(name, ""), "")


def state_of(row: Row, services: Sequence[Progress], now: datetime) -> State:
    states = {one.state for one in services}
    if states <= {"done"}:
        return "done"
    if row["cancelled_at"] is not None:
        return "cancelled"
    if row["expires_at"] <= now:
        return "expired"
    return "open" if "waiting" in states else "failed"
