"""A connect session as it is told: the modules, how far each is, and what that makes of the whole."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from broker.connections.connection_status import HealthState
from broker.connections.credential_summary import CredentialSummary
from core.db import Row

ServiceProgressState = Literal["waiting", "done", "failed"]
ConnectSessionState = Literal["open", "done", "failed", "cancelled", "expired"]


@dataclass(frozen=True, slots=True)
class ConnectSessionRequest:
    """What shall be connected: these modules, or with None all that the person has and that need it. `role_id` is whom
    it is shared with; `again` wants a new connection where there is a good one; `return_path` is a path of ours."""

    modules: Sequence[str] | None = None
    role_id: UUID | None = None
    again: bool = False
    return_path: str = ""


@dataclass(frozen=True, slots=True)
class ServiceProgress:
    """How one module stands. `cause` is a fixed word; `account` is "" until it is done."""

    module: str
    state: ServiceProgressState
    cause: str
    account: str


@dataclass(frozen=True, slots=True)
class ConnectSession:
    """A session and how far it is. It is `failed` when nothing waits and something was tried in vain."""

    id: UUID
    role_id: UUID | None
    role: str
    state: ConnectSessionState
    services: tuple[ServiceProgress, ...]
    return_path: str
    created_at: datetime
    expires_at: datetime

    @property
    def waiting(self) -> tuple[str, ...]:
        """The modules that are not connected yet, the failed ones too: a person may try once more."""
        return tuple(one.module for one in self.services if one.state != "done")


def build_progress(
    name: str, held: CredentialSummary | None, before: Mapping[str, int], failures: Mapping[str, str]
) -> ServiceProgress:
    """How far one module is. A refused OAuth client is no progress either: whoever connects now is refused too."""
    if held is not None and held.state == "connected" and held.version != before.get(name):
        if held.status is HealthState.SERVICE_MISCONFIGURED:
            return ServiceProgress(name, "failed", held.cause, "")
        return ServiceProgress(name, "done", "", held.name)
    return ServiceProgress(name, "failed" if name in failures else "waiting", failures.get(name, ""), "")


def derive_session_state(row: Row, services: Sequence[ServiceProgress], now: datetime) -> ConnectSessionState:
    states = {one.state for one in services}
    if states <= {"done"}:
        return "done"
    if row["cancelled_at"] is not None:
        return "cancelled"
    if row["expires_at"] <= now:
        return "expired"
    return "open" if "waiting" in states else "failed"
