"""State of a user's connection to a vendor."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

CredentialKind = Literal["personal", "shared"]
"""Whose a credential is: one user's, or one role's."""


class ConnectionState(StrEnum):
    """Usability of a module for a user."""

    READY = "ready"
    """It needs no account."""

    CONNECTED = "connected"
    NEEDS_CONNECT = "needs_connect"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class ModuleConnection:
    """One module as it stands for one user. `cause` is a fixed word; `account` is the vendor's name for the account;
    a connected one that is `reading_only` was granted nothing that the user's tools need to change something."""

    module: str
    state: ConnectionState
    kind: CredentialKind | None = None
    cause: str = ""
    account: str = ""
    version: int = 0
    reading_only: bool = False
