"""`mcpist backup` and `mcpist restore`."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlencode

import typer

from core.errors import Conflict
from gateway.cli.options import JsonOption
from gateway.cli.output import emit, note, say
from gateway.cli.session import locally

if TYPE_CHECKING:
    from core.address import DatabaseAddress
    from core.audit.event import Kind
    from core.settings import Settings
    from gateway.cli.progress import Report
    from gateway.deployment import Deployment


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("backup", epilog="Example: mcpist backup mcpist-monday.dump")(backup)
    app.command("restore", epilog="Example: MCPIST_HOME=/srv/new mcpist restore mcpist-monday.dump")(restore)


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write the whole database into one file.

    MCPist may run meanwhile. The keys in the data folder are kept apart and never in it: copy them separately.
    """

    if file.exists() and not force:
        raise Conflict(f"{file} exists already; choose another name, or add --force to replace it")

    async def work(settings: "Settings", report: "Report") -> Path:
        from core.audit.event import Kind
        from gateway.postgres.backup import dump
        from gateway.single.home import joined

        async with joined(settings, report) as deployment:
            report("Writing the backup")
            await dump(_url(deployment.admin), file.absolute(), force=force)
            await _recorded(deployment, Kind.OPERATOR_BACKUP)
        return settings.home / "keys"

    keys = locally(work)

    def human() -> None:
        say(f"Wrote {file} ({file.stat().st_size:,} bytes). It is as secret as the database.")
        note(_KEPT_APART.format(keys=keys))

    emit(as_json, {"file": file.absolute().as_posix(), "bytes": file.stat().st_size, "keys": str(keys)}, human)


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `mcpist backup` wrote.")],
    as_json: JsonOption = False,
) -> None:
    """Restore a backup into an empty database.

    All of it or nothing. The keys of the old data folder are kept apart: copy them separately. Restore only files that
    you trust: a stranger's file runs the stranger's code.
    """

    async def work(settings: "Settings", report: "Report") -> Path:
        from core.audit.event import Kind
        from core.migrations import create_roles, migrate
        from gateway.postgres.backup import restore
        from gateway.single.home import joined

        async with joined(settings, report) as deployment:
            report("Restoring the backup")
            await create_roles(deployment.admin, deployment.passwords)
            await restore(_url(deployment.admin), file.absolute())
            await migrate(deployment.admin, deployment.passwords)
            await _recorded(deployment, Kind.OPERATOR_RESTORE)
        return settings.home / "keys"

    keys = locally(work)

    def human() -> None:
        say(f"Restored {file}.")
        note(_COPY_KEYS.format(keys=keys))

    emit(as_json, {"file": file.absolute().as_posix(), "keys": str(keys)}, human)


_KEPT_APART = (
    "The keys in {keys} are not in it: copy that folder too, and keep it apart from the backup.\n"
    "Without them no token and no connected account of the backup works."
)
_COPY_KEYS = (
    "Tokens and connected accounts of the backup work only with its keys: copy token-peppers.json, vault-kek.json\n"
    "and audit-digest.json of the old data folder into {keys} (mode 0600), then start MCPist."
)


def _url(admin: "DatabaseAddress") -> str:
    """One URL with everything in it; the password goes on in an environment, never on a command line."""
    url = admin.url.reveal()
    login: dict[str, Any] = {}
    if admin.password is not None:
        login["password"] = admin.password.reveal()
    return url + ("&" if "?" in url else "?") + urlencode(login) if login else url


async def _recorded(deployment: "Deployment", kind: "Kind") -> None:
    from core.audit.event import Event
    from core.audit.writer import append
    from gateway.single.operator import CONSOLE, connected

    actor = f"operator (uid {os.getuid()})"
    async with connected(deployment, CONSOLE, most=1) as console:
        await append(console, [Event(at=time.time_ns(), kind=kind, outcome="ok", actor=actor)])
