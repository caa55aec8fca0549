"""Logins of database roles whose password changes while processes run."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg

from core.database_url import DatabaseAddress
from core.errors import Invalid, Unavailable
from core.private_file import read_private
from core.secret import Secret

PATIENCE_SECONDS = 3.0
"""So long a refused login is tried again: a rotation changes the database and the file one after the other."""
RETRY_SECONDS = 0.2
MOST_PASSWORDS = 2


class LoginRefused(Unavailable):
    """The database refuses the login of a role, with every password that is known; `user` is the role."""

    def __init__(self, user: str) -> None:
        super().__init__("MCPist is not ready: the database refuses its login")
        self.user = user


@dataclass(frozen=True, slots=True)
class PasswordFile:
    """A file of passwords that is read at every login. Without `member` it has a password on each line, with it it is a
    JSON object of passwords, or of lists of them. Of several each is tried: during a rotation the old and the new."""

    path: Path
    member: str = ""

    def read(self) -> tuple[Secret, ...]:
        """Read the passwords, at most two.

        Raises:
            Invalid: the file is missing, can be read by others, or is damaged.
        """
        try:
            text = read_private(self.path)
        except FileNotFoundError:
            raise Invalid(f"{self.path} is missing") from None
        try:
            values = text.split("\n") if not self.member else json.loads(text)[self.member]
        except (ValueError, KeyError, TypeError):
            values = []
        values = [values] if isinstance(values, str) else values
        passwords = tuple(Secret(str(one).strip()) for one in values if str(one).strip())
        if not 1 <= len(passwords) <= MOST_PASSWORDS:
            raise Invalid(f"{self.path} must contain one password, or during a rotation two")
        return passwords


async def log_in(address: DatabaseAddress, **options: Any) -> Any:
    """Open a connection. A login that is refused is tried with every password of the address's file, which is read
    again, for some seconds.

    Raises:
        LoginRefused: no password is right.
        Unavailable: the file is of no use.
        OSError, asyncpg.PostgresError: as ``asyncpg.connect``.
    """
    loop = asyncio.get_running_loop()
    give_up = loop.time() + PATIENCE_SECONDS
    while True:
        connection, refused = await _try_passwords(address, options)
        if refused is None:
            return connection
        if address.passwords is None or loop.time() > give_up:
            raise LoginRefused(address.user or "") from refused
        await asyncio.sleep(RETRY_SECONDS)


async def _try_passwords(
    address: DatabaseAddress, options: Mapping[str, Any]
) -> tuple[Any, asyncpg.InvalidPasswordError | None]:
    """Open a connection with the first password that is right; else give the last refusal."""
    refused: asyncpg.InvalidPasswordError | None = None
    for password in _read_passwords(address):
        arguments = {**address.connect_args(), **options}
        if password is not None:
            arguments["password"] = password.reveal()
        try:
            return await _connect(**arguments), None
        except asyncpg.InvalidPasswordError as error:
            refused = error
    return None, refused


def _read_passwords(address: DatabaseAddress) -> Sequence[Secret | None]:
    try:
        return address.read_passwords()
    except Invalid as error:
        raise Unavailable(str(error)) from None


_connect: Any = asyncpg.connect
