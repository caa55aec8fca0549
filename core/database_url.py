"""Address of a database and the login to use there."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from core.secret import Secret


class PasswordSource(Protocol):
    """Passwords of one role, as they are now."""

    def read(self) -> Sequence[Secret]:
        """Return the passwords to try, in this order."""
        ...


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """A libpq URL, and the role and password that override those inside it."""

    url: Secret
    user: str | None = None
    password: Secret | None = None
    passwords: PasswordSource | None = None
    """Where the password is read at every login, instead of `password`."""

    def as_role(self, user: str, password: Secret, passwords: "PasswordSource | None" = None) -> "DatabaseAddress":
        """Return the URL of the same database, logged in as another role."""
        return replace(self, user=user, password=password, passwords=passwords)

    def read_passwords(self) -> Sequence[Secret | None]:
        """Return the passwords to try, in this order; None is the URL's own.

        Raises:
            core.errors.Invalid: the file of passwords is of no use.
        """
        return (self.password,) if self.passwords is None else self.passwords.read()

    def connect_args(self) -> dict[str, Any]:
        """Keyword arguments for ``asyncpg.connect`` and ``asyncpg.create_pool``."""
        args: dict[str, Any] = {"dsn": self.url.reveal()}
        if self.user is not None:
            args["user"] = self.user
        if self.password is not None:
            args["password"] = self.password.reveal()
        return args
