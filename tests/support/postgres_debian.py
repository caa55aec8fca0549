"""A PostgreSQL server of Debian's package, which can do TLS; that of the wheel is built without."""

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.certificates import SelfSigned
from tests.support.postgres_process import (
    SETTINGS,
    dies_with_us,
    server_account,
    server_folder,
    server_user,
    wait_until_ready,
)
from tests.support.running_product import free_port

INITDB_FLAGS = ("--username=postgres", "--encoding=UTF8", "--no-locale", "--auth=scram-sha-256", "--no-sync")
PASSWORD = "password-of-postgres"
RULES = "hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-full\n"


def find_debian_programs() -> Path:
    """The newest version's; the test is skipped where there is none."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda one: int(re.findall(r"\d+", str(one))[0])
    )
    if not found:
        pytest.skip("POSTGRESQL IS MISSING, no client certificate was tried; install it (apt-get install postgresql)")
    return found[-1].parent


@contextlib.contextmanager
def server_with_client_certificates(certificate: SelfSigned, authority: Path) -> Iterator[int]:
    """A port of 127.0.0.1 where a login needs its password and a certificate of `authority` with its role as common
    name (PostgreSQL, 20.12 Certificate Authentication: clientcert=verify-full)."""
    programs = find_debian_programs()
    with server_folder() as folder:
        data, log, port = folder / "data", folder / "log", free_port()
        data.mkdir(mode=0o700)
        files = {"server.crt": certificate.certificate, "server.key": certificate.key, "clients.crt": authority}
        for name, source in files.items():
            shutil.copy(source, folder / name)
            (folder / name).chmod(0o600)
        for owned in (data, *(folder / name for name in files)):
            if user := server_user():
                os.chown(owned, user.pw_uid, user.pw_gid)
        (folder / "password").write_text(PASSWORD)
        argv = [str(programs / "initdb"), *INITDB_FLAGS, f"--pwfile={folder / 'password'}", f"--pgdata={data}"]
        done = subprocess.run(argv, capture_output=True, **server_account())
        assert done.returncode == 0, done
        (data / "pg_hba.conf").write_text(RULES)
        values = {
            **SETTINGS, "listen_addresses": "127.0.0.1", "port": str(port), "unix_socket_directories": "", "ssl": "on",
            "ssl_cert_file": folder / "server.crt", "ssl_key_file": folder / "server.key",
            "ssl_ca_file": folder / "clients.crt",
        }  # fmt: skip
        known = {name: value for name, value in values.items() if name != "scram_iterations"}  # since 16
        argv = [str(programs / "postgres"), "-D", str(data)]
        argv += [part for name, value in known.items() for part in ("-c", f"{name}={value}")]
        with log.open("ab") as output:
            process = subprocess.Popen(argv, stdout=output, stderr=output, preexec_fn=dies_with_us, **server_account())
        try:
            wait_until_ready(process, data / "postmaster.pid", log)
            yield port
        finally:
            process.kill()
            process.wait()
