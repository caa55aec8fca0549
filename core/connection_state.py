"""State of a user's connection to a vendor."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal, Protocol
from uuid import UUID

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


@dataclass(frozen=True, slots=True)
class UserConnection:
    """The connection that a user's calls of one module use, as people see it; nothing of it is secret.

    `health` is a finer state, as a fixed word, and `message` (English and Japanese) says in a clause what is wrong.
    `responsible` is ``owner`` or ``administrator`` where somebody has to act, at `action_url`. One that is not
    `connectable` is nobody's to connect yet: no OAuth client is registered, and no key is taken. `token_expires_at` is
    the end of the access token; one that `renews` is replaced before.
    """

    state: ConnectionState
    kind: CredentialKind | None = None
    owner: str = ""
    account: str = ""
    health: str = ""
    cause: str = ""
    message: tuple[str, str] = ("", "")
    responsible: str = ""
    action_url: str = ""
    token_expires_at: datetime | None = None
    renews: bool = False
    next_retry_at: datetime | None = None
    connectable: bool = True


class UserConnectionReader(Protocol):
    """Reads the connections of one user; the trust zone implements it."""

    async def __call__(self, tenant_id: UUID, user_id: UUID) -> Mapping[str, UserConnection]:
        """Return the connections by module, for the modules with a vendor that the user may use.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        ...


async def read_no_connections(tenant_id: UUID, user_id: UUID) -> Mapping[str, UserConnection]:
    """Implement :class:`UserConnectionReader` where there is no trust zone."""
    return {}
