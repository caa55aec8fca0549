"""Dump a database into one file and restore it, with PostgreSQL's own programs.

Owners, grants and policies travel with the data: forced row-level security means nothing without its owners. Roles
belong to the server and not to a database, so those that the dump names must exist before a restore.

A file is as secret as the database, and restoring a stranger's file runs the stranger's code.
"""

import asyncio
import contextlib
import os
import re
import tempfile
from collections.abc import AsyncGenerator, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from core.private_file import sync_folder
from server.postgres.binaries import find_bundled_binaries
from server.postgres.errors import BackupError
from server.postgres.postmaster import ServerAddress
from server.postgres.process import find_first_error

_QUIET = ("--no-psqlrc", "--quiet", "--no-password")
_MAGIC = b"PGDMP"
_CHUNK = 1 << 18
_HEADER_BYTES = 4096  # bytes of a script that surely hold its opening SETs and no data
_ERROR_LIMIT = 1 << 16

_INSPECT_QUERY = """
SELECT current_setting('server_version_num'),
  (SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e'))
  + (SELECT count(*) FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname NOT IN ('public', 'information_schema'))
"""

# What PostgreSQL's programs say → what to do. Anything else is reported by its first error line.
_ADVICE = {
    "row-level security": "the role it logs in as is itself bound by row-level security, so rows would be missing. "
    "Use a superuser or a role with BYPASSRLS.",
    "server version mismatch": "the server is newer than these programs. Name the folder of its own client programs.",
    "SSL support is not compiled in": "the bundled programs have no TLS. Name a folder of client programs with TLS "
    "(Debian: postgresql-client), or use sslmode=disable on a private network.",
}


@dataclass(frozen=True, slots=True)
class _ClientPrograms:
    """PostgreSQL's client programs, set to one database. The password travels in their environment, never in argv."""

    server: str
    environment: Mapping[str, str]
    folder: Path | None

    def get_program_path(self, name: str) -> str:
        return find_bundled_binaries().get_program_path(name) if self.folder is None else str(self.folder / name)


async def dump(
    server: ServerAddress | str, target: Path, *, force: bool = False, program_dir: Path | None = None
) -> None:
    """Write the database into `target` (custom format, 0600), which appears whole or not at all.

    `server` may be a postgresql:// URL. `program_dir` names other client programs than the bundled ones, which know no
    TLS and no server newer than themselves. pg_dump keeps its `row_security = off`: a role that is bound by row-level
    security gets an error and not a file with rows missing.

    Raises: BackupError if the file exists (unless `force`), or with PostgreSQL's reason.
    """
    tools = _find_client_programs(server, program_dir)
    with stage_file(target, force) as descriptor:
        argv = [tools.get_program_path("pg_dump"), "--format=custom", "--no-password", f"--dbname={tools.server}"]
        async with _run_program(argv, tools, stdout=descriptor) as (process, errors):
            if await process.wait() != 0:
                raise BackupError(f"No backup was made: {_explain(errors)}")


async def restore(server: ServerAddress | str, source: Path, *, program_dir: Path | None = None) -> None:
    """Restore a file of `dump` into an empty database, all of it or nothing. The roles it names must exist.

    Raises: BackupError if the file is none of ours, the database is not empty, or with PostgreSQL's reason.
    """
    _check_file(source)
    tools = _find_client_programs(server, program_dir)
    version = await _read_version_of_empty(tools)
    # Only the owner of an extension may comment on it, which on a server of one's own is a superuser.
    reader_argv = [tools.get_program_path("pg_restore"), "--no-comments", "--file=-", str(source)]
    writer_argv = [
        tools.get_program_path("psql"),
        *_QUIET,
        "--output=/dev/null",
        "-v",
        "ON_ERROR_STOP=1",
        "-d",
        tools.server,
    ]
    pipe = asyncio.subprocess.PIPE
    async with (
        _run_program(reader_argv, tools, stdout=pipe) as (reader, reader_errors),
        _run_program(writer_argv, tools, stdin=pipe) as (writer, writer_errors),
    ):
        code = await _pump_script(reader, writer, version)
        if code:
            raise BackupError(f"Nothing was restored: {_explain(reader_errors)}")
        if await writer.wait() != 0 or code is None:
            raise BackupError(f"Nothing was restored: {_explain(writer_errors)}")


async def _pump_script(
    reader: asyncio.subprocess.Process, writer: asyncio.subprocess.Process, version: int
) -> int | None:
    """Send the script in one transaction, and COMMIT only after pg_restore has vouched for the whole file.

    Returns: pg_restore's exit code, None if psql gave up first.
    """
    assert reader.stdout is not None
    assert writer.stdin is not None
    try:
        head = await _read_up_to(reader.stdout, _HEADER_BYTES)
        if version < 170000:  # pg_restore writes this setting for every server; 16 does not know it
            head = head.replace(b"\nSET transaction_timeout = 0;\n", b"\n", 1)
        writer.stdin.write(b"BEGIN;\n" + head)
        while chunk := await reader.stdout.read(_CHUNK):
            writer.stdin.write(chunk)
            await writer.stdin.drain()
        code = await reader.wait()
        if code == 0:
            writer.stdin.write(b"\nCOMMIT;\n")
            await writer.stdin.drain()
    except (BrokenPipeError, ConnectionResetError):
        return None
    finally:
        writer.stdin.close()
    return code


async def _read_up_to(stream: asyncio.StreamReader, size: int) -> bytes:
    try:
        return await stream.readexactly(size)
    except asyncio.IncompleteReadError as error:
        return error.partial


async def _read_version_of_empty(tools: _ClientPrograms) -> int:
    """Read the server's version number, such as 160004.

    Raises: BackupError if the database holds anything, or does not answer.
    """
    argv = [
        tools.get_program_path("psql"),
        *_QUIET,
        "--no-align",
        "--tuples-only",
        "-c",
        _INSPECT_QUERY,
        "-d",
        tools.server,
    ]
    async with _run_program(argv, tools, stdout=asyncio.subprocess.PIPE) as (process, errors):
        assert process.stdout is not None
        output = await process.stdout.read()
        if await process.wait() != 0:
            raise BackupError(f"Nothing was restored: {_explain(errors)}")
    version, objects = output.decode().strip().split("|")
    if int(objects):
        raise BackupError("Nothing was restored: the database is not empty. Create a new one and restore into that.")
    return int(version)


@contextlib.asynccontextmanager
async def _run_program(
    argv: list[str],
    tools: _ClientPrograms,
    *,
    stdin: int = asyncio.subprocess.DEVNULL,
    stdout: int = asyncio.subprocess.DEVNULL,
) -> AsyncGenerator[tuple[asyncio.subprocess.Process, IO[bytes]], None]:
    """Run a program with a file that collects its error output; the program does not outlive the block."""
    with tempfile.TemporaryFile() as errors:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=stdin, stdout=stdout, stderr=errors, env=dict(tools.environment)
            )
        except OSError as error:
            raise BackupError(f"Cannot run {argv[0]}: {error.strerror}. Name the folder of the programs.") from None
        try:
            yield process, errors
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
            if process.stdout is not None:
                await process.stdout.read()  # asyncio closes a pipe only at its end
            await process.wait()


def _explain(errors: IO[bytes]) -> str:
    errors.seek(0)
    text = errors.read(_ERROR_LIMIT).decode("utf-8", "replace")
    for sign, advice in _ADVICE.items():
        if sign in text:
            return advice
    missing = re.search(r'role "([^"]{1,63})" does not exist', text)
    if missing and "connection to server" not in text:
        return f"the server has no role {missing[1]}. Create MCPist's roles there first."
    return find_first_error(text)


def _check_file(source: Path) -> None:
    try:
        with source.open("rb") as file:
            start = file.read(len(_MAGIC))
    except OSError as error:
        raise BackupError(f"Cannot read {source}: {error.strerror}.") from None
    if start != _MAGIC:
        raise BackupError(f"{source} is not a backup of MCPist.")


@contextlib.contextmanager
def stage_file(target: Path, force: bool) -> Generator[int, None, None]:
    """Open a private file beside the target, which takes its name if the block succeeds."""
    exists_error = BackupError(f"{target} exists already; choose another name, or say that it may be replaced.")
    if target.exists() and not force:
        raise exists_error
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)  # 0600
    except OSError as error:
        raise BackupError(f"Cannot write into {target.parent}: {error.strerror}.") from None
    staging = Path(name)
    try:
        yield descriptor
        os.fsync(descriptor)
        if force:
            staging.rename(target)
        else:
            os.link(staging, target)  # unlike a rename it never replaces a file that has appeared meanwhile
        sync_folder(target.parent)
    except FileExistsError:
        raise exists_error from None
    finally:
        os.close(descriptor)
        staging.unlink(missing_ok=True)


def _find_client_programs(server: ServerAddress | str, folder: Path | None) -> _ClientPrograms:
    url, password = (
        (server.build_url(), server.password) if isinstance(server, ServerAddress) else _split_password(server)
    )
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "PGCONNECT_TIMEOUT": "10", "PGAPPNAME": "mcpist backup"}
    if password is not None:
        environment["PGPASSWORD"] = password
    return _ClientPrograms(url, environment, folder)


def _split_password(url: str) -> tuple[str, str | None]:
    split = urlsplit(url)
    scheme = split.scheme.partition("+")[0]
    if scheme not in ("postgresql", "postgres"):
        raise BackupError("The database must be given as a URL: postgresql://user:password@host:port/database.")
    login, at, host = split.netloc.rpartition("@")
    user, colon, secret = login.partition(":")
    query = dict(parse_qsl(split.query, keep_blank_values=True))
    password = query.pop("password", unquote(secret) if colon else None)
    return urlunsplit((scheme, user + at + host, split.path, urlencode(query), "")), password
