"""Address of a database and the login to use there."""

from dataclasses import dataclass, replace
from typing import Any

from core.secret import Secret


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """A libpq URL, and the role and password that override those inside it."""

    url: Secret
    user: str | None = None
    password: Secret | None = None

    def as_role(self, user: str, password: Secret) -> "DatabaseAddress":
        """Return the URL of the same database, logged in as another role."""
        return replace(self, user=user, password=password)

    def connect_args(self) -> dict[str, Any]:
        """Keyword arguments for ``asyncpg.connect`` and ``asyncpg.create_pool``."""
        args: dict[str, Any] = {"dsn": self.url.reveal()}
        if self.user is not None:
            args["user"] = self.user
        if self.password is not None:
            args["password"] = self.password.reveal()
        return args
