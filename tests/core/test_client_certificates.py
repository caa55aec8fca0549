"""Certificates that clients show to PostgreSQL: the right one lets in, and an error names what is wrong."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.config.parsers import SettingFormatError, parse_database_url
from core.database_login import ClientCertificateRefused, LoginRefused
from core.database_url import DatabaseAddress
from core.db import check_sessions, connect
from core.errors import Invalid, MCPistError
from core.secret import Secret
from server.postgres.login_errors import explain_refused_login
from tests.support.certificates import Authority, SelfSigned, make_authority, make_client_certificate
from tests.support.postgres_debian import PASSWORD, server_with_client_certificates

pytestmark = pytest.mark.timeout(120)

ROLE = "postgres"
Address = Callable[..., DatabaseAddress]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="module")
def authority(folder: Path) -> Authority:
    return make_authority(folder)


@pytest.fixture(scope="module")
def own(authority: Authority, folder: Path) -> SelfSigned:
    """The role's."""
    return authority.issue(ROLE, folder)


@pytest.fixture(scope="module")
def port(authority: Authority, folder: Path) -> Iterator[int]:
    with server_with_client_certificates(authority.issue("server", folder), authority.certificate) as made:
        yield made


def build(port: int, authority: Path, *, shown: SelfSigned | None = None, **options: object) -> DatabaseAddress:
    """The address with `sslmode=verify-full`; `shown` is the client's certificate, `options` win."""
    files = {} if shown is None else {"sslcert": shown.certificate, "sslkey": shown.key}
    every = {"sslmode": "verify-full", "sslrootcert": authority, **files, **options}
    query = "&".join(f"{name}={value}" for name, value in every.items() if value is not None)
    return DatabaseAddress(Secret(f"postgresql://{ROLE}:{PASSWORD}@127.0.0.1:{port}/postgres?{query}"))


async def test_the_role_s_own_certificate_lets_in(port: int, authority: Authority, own: SelfSigned) -> None:
    address = build(port, authority.certificate, shown=own)
    await check_sessions(address)
    connection = await connect(address)
    assert await connection.fetchval("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
    await connection.close()


async def test_no_certificate(port: int, authority: Authority) -> None:
    with pytest.raises(LoginRefused) as caught:
        await check_sessions(build(port, authority.certificate))
    assert caught.value.__cause__ is not None
    told = explain_refused_login(caught.value.__cause__)
    assert "client certificate, which sslcert and sslkey in MCPIST_DATABASE_URL have to name" in told


async def test_the_certificate_of_another_role(port: int, authority: Authority, folder: Path) -> None:
    other = authority.issue("mcpist_broker", folder)
    with pytest.raises(LoginRefused):
        await check_sessions(build(port, authority.certificate, shown=other))


async def test_a_certificate_of_another_authority(port: int, authority: Authority, tmp_path: Path) -> None:
    other = make_authority(tmp_path).issue(ROLE, tmp_path)
    with pytest.raises(ClientCertificateRefused, match="sslcert and sslkey in MCPIST_DATABASE_URL"):
        await check_sessions(build(port, authority.certificate, shown=other))


async def test_a_certificate_that_has_ended(port: int, authority: Authority, tmp_path: Path) -> None:
    ended = authority.issue(ROLE, tmp_path, days=-1)
    with pytest.raises(ClientCertificateRefused):
        await check_sessions(build(port, authority.certificate, shown=ended))


def missing(_own: SelfSigned, folder: Path) -> dict[str, object]:
    return {"sslkey": folder / "nowhere.key"}


def readable_by_others(own: SelfSigned, folder: Path) -> dict[str, object]:
    key = folder / "open.key"
    key.write_bytes(own.key.read_bytes())
    key.chmod(0o644)
    return {"sslkey": key}


def not_pem(_own: SelfSigned, folder: Path) -> dict[str, object]:
    file = folder / "letter.crt"
    file.write_text("Dear operator")
    return {"sslcert": file}


def of_another(_own: SelfSigned, folder: Path) -> dict[str, object]:
    pem, _ = make_client_certificate("ec")
    key = folder / "another.key"
    key.write_text(pem)
    key.chmod(0o600)
    return {"sslkey": key}


def without_certificate(own: SelfSigned, _folder: Path) -> dict[str, object]:
    return {"sslcert": None, "sslkey": own.key}


def missing_authority(_own: SelfSigned, folder: Path) -> dict[str, object]:
    return {"sslrootcert": folder / "nowhere.crt"}


def no_authority(_own: SelfSigned, _folder: Path) -> dict[str, object]:
    return {"sslrootcert": None}


def empty_authority(_own: SelfSigned, folder: Path) -> dict[str, object]:
    file = folder / "empty.crt"
    file.touch()
    return {"sslrootcert": file}


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (missing, "sslkey in MCPIST_DATABASE_URL: .*nowhere.key does not exist"),
        (readable_by_others, "sslkey in MCPIST_DATABASE_URL: .*can be read by others; run: chmod 600 .*open.key"),
        (not_pem, "sslcert and sslkey in MCPIST_DATABASE_URL: .*letter.crt and .* are not a PEM certificate"),
        (of_another, "sslcert and sslkey in MCPIST_DATABASE_URL: .* do not belong together"),
        (without_certificate, r"a key \(sslkey\) without its certificate: add sslcert=FILE"),
        (missing_authority, "sslrootcert in MCPIST_DATABASE_URL: .*nowhere.crt does not exist"),
        (no_authority, "sslmode=verify-full and no authority: add sslrootcert=FILE"),
        (empty_authority, "sslrootcert in MCPIST_DATABASE_URL: .*empty.crt is not a PEM file"),
    ],
)
async def test_files_that_cannot_be_used(
    port: int,
    authority: Authority,
    own: SelfSigned,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: Callable[[SelfSigned, Path], dict[str, object]],
    told: str,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    address = build(port, authority.certificate, shown=own, **fault(own, tmp_path))
    with pytest.raises(Invalid, match=told):
        await check_sessions(address)
    if fault is not readable_by_others:  # which is refused at a start only
        with pytest.raises(MCPistError, match="database") as caught:  # while the product runs, callers learn no path
            await connect(address)
        assert str(tmp_path) not in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="NOT TRIED: root reads every file")
async def test_a_file_of_somebody_else(port: int, authority: Authority, own: SelfSigned, tmp_path: Path) -> None:
    key = tmp_path / "closed.key"
    key.touch(mode=0o000)
    with pytest.raises(Invalid, match="cannot be read by the user that MCPist runs as"):
        await check_sessions(build(port, authority.certificate, shown=own, sslkey=key))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("sslmode=verify", "sslmode has to be one of disable, .*, verify-full"),
        ("connect_timeout=5&sslmode=require", "does not know its option connect_timeout; take it out"),
        ("target_session_attrs=standby", "target_session_attrs has to be read-write"),
    ],
)
def test_options_that_are_none(options: str, told: str) -> None:
    with pytest.raises(SettingFormatError, match=told):
        parse_database_url(f"postgresql://u:secret@db/mcpist?{options}")
