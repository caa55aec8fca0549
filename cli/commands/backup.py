"""`mcpist backup` and `mcpist restore`."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlencode

import typer

from cli.options import JsonOption
from cli.output import print_line, print_note, print_result
from cli.runner import run_local
from core.errors import Conflict, Invalid

if TYPE_CHECKING:
    from cli.progress import Report
    from core.audit.event import AuditEventKind
    from core.config.settings import Settings
    from core.database_url import DatabaseAddress
    from core.secret import Secret
    from server.deployment import Deployment


PassphraseOption = Annotated[
    Path | None,
    typer.Option(
        "--passphrase-file", metavar="FILE", help="The passphrase of --keys-file; default a prompt or standard input."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("backup", epilog="Example: mcpist backup mcpist-monday.dump")(backup)
    app.command("restore", epilog="Example: MCPIST_HOME=/srv/new mcpist restore mcpist-monday.dump")(restore)
    app.command("adopt", epilog="Example: mcpist adopt")(adopt)


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to.")],
    keys_file: Annotated[
        Path | None,
        typer.Option("--keys-file", metavar="FILE", help="Write the keys too, into this file, under a passphrase."),
    ] = None,
    passphrase_file: PassphraseOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the files if they exist.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write the whole database into one file, and with --keys-file the keys into another.

    MCPist may run meanwhile. The database's file has no key in it: both files together open every secret. Keep the file
    of the keys, and its passphrase, elsewhere.
    """
    for target in (file, keys_file):
        if target is not None and target.exists() and not force:
            raise Conflict(f"{target} exists already; choose another name, or add --force to replace it")
    passphrase = _read_passphrase(keys_file, passphrase_file)

    async def work(settings: "Settings", report: "Report") -> Path:
        from core.audit.event import AuditEventKind
        from server.backup_right import check_backup_right
        from server.data_folder import attach_database
        from server.key_archive import back_up_keys
        from server.postgres.backup import dump

        async with attach_database(settings, report) as deployment:
            await check_backup_right(deployment.admin)
            report("Writing the backup")
            with back_up_keys(settings, keys_file, passphrase, force=force):
                await dump(_build_url(deployment.admin), file.absolute(), force=force)
            await _record_event(deployment, AuditEventKind.OPERATOR_BACKUP)
        return settings.home / "keys"

    keys = run_local(work)

    def print_text() -> None:
        print_line(f"Wrote {file} ({file.stat().st_size:,} bytes). It is as secret as the database.")
        if keys_file is None:
            print_note(_KEYS_NOT_INCLUDED_NOTE.format(keys=keys))
        else:
            print_line(f"Wrote {keys_file}: the keys, under the passphrase. Keep it apart from the other file.")

    result = {"file": file.absolute().as_posix(), "bytes": file.stat().st_size, "keys": str(keys)}
    result |= {"keys_file": keys_file.absolute().as_posix() if keys_file else None}
    print_result(as_json, result, print_text)


def _read_passphrase(keys_file: Path | None, passphrase_file: Path | None) -> "Secret | None":
    if keys_file is None:
        if passphrase_file is not None:
            raise Invalid("--passphrase-file is that of --keys-file FILE, which is missing")
        return None
    from cli.secret_input import read_secret

    return read_secret("Passphrase of the keys", passphrase_file, False, option="--passphrase-file")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `mcpist backup` wrote.")],
    keys_file: Annotated[
        Path | None,
        typer.Option("--keys-file", metavar="FILE", help="The keys that mcpist backup --keys-file wrote."),
    ] = None,
    passphrase_file: PassphraseOption = None,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="The original runs no more: this is the one that may ask services now.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Restore a backup into an empty database, and with --keys-file the keys into the data folder.

    All of it or nothing. What was restored is a copy: it asks no service and hands out no token until `mcpist adopt`.
    Without --keys-file, copy the keys of the old data folder yourself. Restore only files that you trust: a stranger's
    file runs the stranger's code.
    """
    passphrase = _read_passphrase(keys_file, passphrase_file)

    async def work(settings: "Settings", report: "Report") -> Path:
        from core.audit.event import AuditEventKind
        from core.migrations import create_roles, migrate
        from server.data_folder import attach_database
        from server.key_archive import decrypt_key_files, write_key_files
        from server.postgres.backup import restore

        if keys_file is not None and passphrase is not None:
            write_key_files(settings.home, decrypt_key_files(keys_file, passphrase))
        async with attach_database(settings, report, maker="restore") as deployment:
            report("Restoring the backup")
            await create_roles(deployment.admin, deployment.passwords)
            await restore(_build_url(deployment.admin), file.absolute())
            await migrate(deployment.admin, deployment.passwords)
            await _end_restored_jobs(deployment)
            await _adopt_or_disown(deployment, adopted=adopt)
            await _record_event(deployment, AuditEventKind.OPERATOR_RESTORE)
        return settings.home / "keys"

    keys = run_local(work)

    def print_text() -> None:
        print_line(f"Restored {file}.")
        if keys_file is None:
            print_note(_COPY_KEYS_NOTE.format(keys=keys))
        if not adopt:
            print_note(_COPY_NOTE)

    print_result(as_json, {"file": file.absolute().as_posix(), "keys": str(keys), "adopted": adopt}, print_text)


def adopt(as_json: JsonOption = False) -> None:
    """Let this MCPist use connected accounts, although its database is a copy of another's.

    Do it only when the original runs no more: where both ask a service, each spends the other's tokens, and people
    have to connect their accounts anew. MCPist may run meanwhile; it needs no restart.
    """

    async def work(settings: "Settings", report: "Report") -> Path:
        from core.migrations import migrate
        from server.data_folder import attach_database

        async with attach_database(settings, report) as deployment:
            await migrate(deployment.admin, deployment.passwords, upgrade=False)
            await _adopt_or_disown(deployment, adopted=True)
        return settings.home

    home = run_local(work)
    print_result(as_json, {"adopted": True}, lambda: print_line(f"The MCPist of {home} asks services from now on."))
    print_note(
        "Accounts that the original has refreshed since the backup have to be connected anew: see mcpist doctor."
    )


_COPY_NOTE = "This is a copy: it asks no service and hands out no token. When the original runs no more: mcpist adopt"
_KEYS_NOT_INCLUDED_NOTE = (
    "The keys in {keys} are not in it: copy that folder too, or use --keys-file, and keep them apart from the backup.\n"
    "Without them no token and no connected account of the backup works."
)
_COPY_KEYS_NOTE = (
    "Tokens and connected accounts of the backup work only with its keys: copy token-peppers.json, vault-kek.json\n"
    "and audit-digest.json of the old data folder into {keys} (mode 0600), then start MCPist."
)


def _build_url(admin: "DatabaseAddress") -> str:
    """Build one URL with everything in it; the password goes on in an environment, never on a command line."""
    url = admin.url.reveal()
    login: dict[str, Any] = {}
    if admin.password is not None:
        login["password"] = admin.password.reveal()
    return url + ("&" if "?" in url else "?") + urlencode(login) if login else url


async def _adopt_or_disown(deployment: "Deployment", *, adopted: bool) -> None:
    from broker.vault import deployment_guard
    from server.bootstrap import OPERATOR_ACTOR
    from server.role_database import BROKER_ROLE, open_role_database
    from server.vault_keys import get_id_file_path

    async with open_role_database(deployment, BROKER_ROLE, max_connections=1) as broker:
        if adopted:
            await deployment_guard.adopt(broker, get_id_file_path(deployment), OPERATOR_ACTOR)
        else:
            await deployment_guard.mark_as_copy(broker)


async def _end_restored_jobs(deployment: "Deployment") -> None:
    """End the jobs that the backup holds unfinished: the original may have run them since, and nothing runs twice."""
    from jobs.worker_store import WorkerStore
    from server.role_database import WORKER_ROLE, open_role_database

    async with open_role_database(deployment, WORKER_ROLE, max_connections=1) as database:
        await WorkerStore(database).end_restored()


async def _record_event(deployment: "Deployment", kind: "AuditEventKind") -> None:
    from core.audit.event import AuditEvent
    from core.audit.writer import append_events
    from server.role_database import CONSOLE_ROLE, open_role_database

    actor = f"operator (uid {os.getuid()})"
    async with open_role_database(deployment, CONSOLE_ROLE, max_connections=1) as console:
        await append_events(console, [AuditEvent(at=time.time_ns(), kind=kind, outcome="ok", actor=actor)])
