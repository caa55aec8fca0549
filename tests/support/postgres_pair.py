"""A primary and its streaming standby, as real processes on this machine: killed, frozen, promoted, made anew."""

import contextlib
import os
import secrets
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg

from tests.support.postgres_process import (
    SETTINGS,
    START_SECONDS,
    dies_with_us,
    find_programs,
    initialize_data,
    server_account,
    server_folder,
    server_user,
    wait_until_ready,
)
from tests.support.running_product import free_port

SECONDS = 60
NAMED_HOSTS = ("127.0.0.2", "127.0.0.3")
"""Addresses of this machine on Linux."""


@dataclass
class PairedServer:
    """One of the two, at a port of its own."""

    programs: Path
    folder: Path
    password: str
    host: str
    port: int = field(default_factory=free_port)
    process: "subprocess.Popen[Any] | None" = None

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def url(self) -> str:
        return f"postgresql://postgres:{self.password}@{self.host}:{self.port}/postgres"

    def start(self) -> None:
        values = {**SETTINGS, "listen_addresses": self.host, "port": str(self.port), "wal_keep_size": "256MB"}
        settings = [part for name, value in values.items() for part in ("-c", f"{name}={value}")]
        argv = [str(self.programs / "postgres"), "-D", str(self.data), "-k", "", *settings]
        log = self.folder / "log"
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                argv, stdout=output, stderr=output, preexec_fn=dies_with_us, **server_account()
            )
        wait_until_ready(self.process, self.data / "postmaster.pid", log)

    def kill(self) -> None:
        """As if its machine had lost power; what it had written is kept."""
        for process in self._processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        if self.process is not None:
            self.process.wait(timeout=START_SECONDS)

    def freeze(self) -> None:
        """As if its machine could not be reached: connections are neither closed nor answered."""
        for process in self._processes():
            os.kill(process, signal.SIGSTOP)

    def promote(self) -> None:
        """Make the standby the primary; it takes writes when this returns."""
        argv = [str(self.programs / "pg_ctl"), "promote", "-D", str(self.data), "-t", str(SECONDS)]
        done = subprocess.run(argv, capture_output=True, timeout=SECONDS, **server_account())
        assert done.returncode == 0, done

    async def execute(self, *statements: str) -> None:
        """Run statements as the superuser, each in a transaction of its own."""
        connection = await asyncpg.connect(self.url)
        try:
            for one in statements:
                await connection.execute(one)
        finally:
            await connection.close()

    def _processes(self) -> list[int]:
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [self.process.pid, *map(int, children.read_text().split() if children.exists() else ())]


@dataclass
class PostgresPair:
    """`first` begins as the primary."""

    first: PairedServer
    second: PairedServer

    @property
    def url(self) -> str:
        """The superuser's URL of whichever takes writes."""
        hosts = ",".join(f"{one.host}:{one.port}" for one in (self.first, self.second))
        login = f"postgres:{self.first.password}"
        return f"postgresql://{login}@{hosts}/postgres?target_session_attrs=read-write"

    async def wait_for_standby(self) -> None:
        """From now on the primary acknowledges nothing that the standby has not applied."""
        await self.first.execute(
            "ALTER SYSTEM SET synchronous_standby_names = '*'",
            "ALTER SYSTEM SET synchronous_commit = 'remote_apply'",
            "SELECT pg_reload_conf()",
        )

    async def cut_replication(self) -> None:
        """From now on the standby hears nothing of the primary."""
        await self.second.execute("ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()")

    async def fail_over(self) -> None:
        self.first.kill()
        self.second.promote()

    def copy_to(self, target: PairedServer, source: PairedServer) -> None:
        """Make `target` a standby of `source`, from nothing, and start it."""
        subprocess.run(["rm", "-rf", str(target.data)], check=True)
        argv = [
            str(target.programs / "pg_basebackup"), "--pgdata", str(target.data), "--write-recovery-conf",
            "--wal-method=stream", "--checkpoint=fast", "--no-sync",
            "--dbname", f"host={source.host} port={source.port} user=postgres password={source.password}",
        ]  # fmt: skip
        done = subprocess.run(argv, capture_output=True, timeout=SECONDS, **server_account())
        assert done.returncode == 0, done
        target.start()


@contextlib.contextmanager
def postgres_pair(*, same_port: bool = False) -> Iterator[PostgresPair]:
    """Both run until the block ends, about 3 s to start. With `same_port` they differ by their address, as two machines
    do that take turns to have one name."""
    with server_folder() as folder:
        programs, password = find_programs(folder), secrets.token_urlsafe(16)
        port = free_port()
        servers = [
            PairedServer(programs, folder / name, password, host, port if same_port else free_port())
            for name, host in zip(("first", "second"), NAMED_HOSTS if same_port else ("127.0.0.1",) * 2, strict=True)
        ]
        for one in servers:
            one.folder.mkdir(mode=0o755)
            if user := server_user():
                os.chown(one.folder, user.pw_uid, user.pw_gid)
        pair = PostgresPair(*servers)
        try:
            initialize_data(programs, pair.first.data, password, folder / "log")
            pair.first.start()
            pair.copy_to(pair.second, pair.first)
            yield pair
        finally:
            for one in servers:
                if one.process is not None and one.process.poll() is None:
                    one.kill()
