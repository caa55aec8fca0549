"""PgBouncer from Debian's package in front of a test's PostgreSQL server."""

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from core.database_url import DatabaseAddress
from core.secret import Secret
from tests.support.eventually import within

CONFIGURATION = """
[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
unix_socket_mode = 0777
listen_port = 6432
pool_mode = {mode}
auth_type = scram-sha-256
auth_file = {folder}/users
auth_user = {user}
auth_query = SELECT rolname, rolpassword FROM pg_authid WHERE rolname = $1
ignore_startup_parameters = extra_float_digits
max_client_conn = 500
default_pool_size = 60
logfile = {folder}/log
"""


@contextlib.asynccontextmanager
async def pgbouncer(upstream: DatabaseAddress, mode: str) -> AsyncGenerator[DatabaseAddress]:
    """The same database through a pool in `mode` (session, transaction or statement)."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        pytest.skip("PGBOUNCER IS MISSING, no pooler was tried; install it (apt-get install pgbouncer)")
    url = urlsplit(upstream.url.reveal())
    host = parse_qs(url.query).get("host", [url.hostname or "127.0.0.1"])[0]
    database, user, password = url.path.lstrip("/"), url.username or "", url.password or ""
    folder = Path(tempfile.mkdtemp(prefix="mcpist-pgb-", dir="/tmp"))
    folder.chmod(0o777)
    values = {
        "host": host,
        "port": url.port or 5432,
        "folder": folder,
        "mode": mode,
        "user": user,
        "database": database,
    }
    (folder / "ini").write_text(CONFIGURATION.format(**values))
    (folder / "users").write_text(f'"{user}" "{password}"\n')
    as_nobody: dict[str, Any] = {"user": "nobody"} if os.geteuid() == 0 else {}  # it refuses to run as root
    process = await asyncio.create_subprocess_exec(program, "-q", str(folder / "ini"), **as_nobody)

    async def listens() -> bool:
        try:
            _, writer = await asyncio.open_unix_connection(folder / ".s.PGSQL.6432")
        except OSError:
            return False
        writer.close()
        return True

    try:
        await within(10, listens)
        login = f"{quote(user)}:{quote(password)}"
        yield DatabaseAddress(Secret(f"postgresql://{login}@/{database}?host={quote(str(folder))}&port=6432"))
    finally:
        process.send_signal(signal.SIGINT)
        await process.wait()
        shutil.rmtree(folder, ignore_errors=True)
