"""Run the Alembic scripts in a process of its own: ``python -m core.migration_process``.

Alembic, SQLAlchemy and the scripts take 45 MB, which a product that has started never needs again. The process loads
them while it waits for its order, which is a line of JSON on standard input; it answers with one on standard output,
and ends when standard input does, so that it never outlives the process that gave the order.
"""

import asyncio
import contextlib
import importlib
import json
import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.database_login import log_in
from core.database_url import DatabaseAddress
from core.errors import MCPistError
from core.migration_scripts import get_migration_scripts_path
from core.secret import Secret

if TYPE_CHECKING:
    from sqlalchemy import Connection


class MigrationError(MCPistError):
    """The database cannot be brought to this version's schema; the text says why."""

    status, code, exit_code = 503, "schema", 8


class MigrationTraceback(Exception):
    """The traceback of the process that ran the scripts, as the cause of a `MigrationError`."""


@dataclass(frozen=True, slots=True)
class _Passwords:
    """The passwords of an address, as they were when the order was given."""

    passwords: tuple[Secret, ...]

    def read(self) -> Sequence[Secret]:
        return self.passwords


class MigrationProcess:
    """A process that runs the scripts once."""

    def __init__(self) -> None:
        # -P: the current folder is no place to find modules in. A session of its own: Ctrl-C in a terminal reaches the
        # first process only, which ends this one.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "core.migration_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    async def upgrade(self, address: DatabaseAddress) -> None:
        """Bring the database to the newest revision.

        Raises:
            MigrationError: a script failed. All of them are one transaction, so nothing was changed.
        """
        try:
            answer = await asyncio.to_thread(self._exchange, _write_order(address))
        finally:
            self._process.kill()  # without effect once it has ended
        if answer.get("done"):
            return
        error = MigrationError(
            f"a migration failed and changed nothing ({answer.get('error', 'its process ended')}); "
            "the log of PostgreSQL says more"
        )
        raise error from MigrationTraceback(answer.get("traceback", ""))

    def end(self) -> None:
        """End a process that got no order."""
        with self._process:
            self._process.kill()

    def _exchange(self, order: bytes) -> dict[str, Any]:
        """Send the order and wait for the process's end; the answer is empty where there is none."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._process, contextlib.suppress(BrokenPipeError, ValueError):
            self._process.stdin.write(order)
            self._process.stdin.flush()
            return json.loads(self._process.stdout.read())
        return {}


def _write_order(address: DatabaseAddress) -> bytes:
    passwords = [None if password is None else password.reveal() for password in address.read_passwords()]
    order = {"url": address.url.reveal(), "user": address.user, "passwords": passwords}
    return json.dumps(order).encode() + b"\n"


def _read_order(line: bytes) -> DatabaseAddress:
    order = json.loads(line)
    passwords = tuple(Secret(password) for password in order["passwords"] if password is not None)
    source = _Passwords(passwords) if passwords else None
    return DatabaseAddress(Secret(order["url"]), order["user"], passwords=source)


async def run_scripts(address: DatabaseAddress, revision: str | None = None) -> None:
    """Bring the database to the newest revision, or down to `revision` (``base``: to none), in this process.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: a script failed.
    """
    from sqlalchemy.ext.asyncio import create_async_engine
    from sqlalchemy.pool import NullPool

    engine = create_async_engine(  # unit-of-work: Alembic wants SQLAlchemy's connection
        "postgresql+asyncpg://",
        async_creator=lambda: log_in(address),  # unit-of-work: the administrator's, before there is a tenant
        poolclass=NullPool,
    )
    try:
        async with engine.connect() as connection:
            await connection.run_sync(_run_alembic, revision)
    finally:
        await engine.dispose()


def _run_alembic(connection: "Connection", revision: str | None) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(get_migration_scripts_path()).replace("%", "%%"))
    config.attributes["connection"] = connection
    if revision is None:
        command.upgrade(config, "head")
    else:
        command.downgrade(config, revision)
    connection.commit()  # unit-of-work: a migration is its own


def _name_error(error: BaseException | None) -> str:
    """Name an error, and PostgreSQL's beneath SQLAlchemy's, without its text, which may show a row."""
    name = type(error).__name__
    while error is not None:
        state = getattr(error, "sqlstate", None)
        name = f"SQLSTATE {state}, {type(error).__name__}" if state else name
        error = error.__cause__
    return name


def _exit_with_parent() -> None:
    with contextlib.suppress(OSError):
        while os.read(0, 1):
            pass
    os._exit(1)


def main() -> None:
    """Load what a migration needs, then carry out the order."""
    for name in ("alembic.command", "sqlalchemy.dialects.postgresql.asyncpg", "sqlalchemy.ext.asyncio"):
        importlib.import_module(name)
    line = sys.stdin.buffer.readline()
    if not line:
        return
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    try:
        asyncio.run(run_scripts(_read_order(line)))
        answer: dict[str, Any] = {"done": True}
    except Exception as error:  # noqa: BLE001 -- the parent raises it
        answer = {"error": _name_error(error), "traceback": traceback.format_exc()}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
