"""TLS towards the database: who vouches for it is checked, and an error names what is wrong."""

from pathlib import Path

import pytest

from core.db import DatabaseNotTrusted, check_sessions, connect
from core.errors import Unavailable
from tests.support.certificates import self_signed
from tests.support.postgres import ScratchDatabase
from tests.support.postgres_tls import at, tls_in_front_of


async def test_a_server_whose_authority_is_named(database: ScratchDatabase, tmp_path: Path) -> None:
    certificate = self_signed(tmp_path)
    async with tls_in_front_of(database.admin, certificate) as url:
        address = at(url, f"sslmode=verify-full&sslrootcert={certificate.certificate}&target_session_attrs=read-write")
        await check_sessions(address)
        connection = await connect(address)
        assert await connection.fetchval("SELECT 1") == 1
        await connection.close()


async def test_a_server_of_another_authority_is_refused_and_named(database: ScratchDatabase, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    certificate, other = self_signed(tmp_path), self_signed(elsewhere)
    async with tls_in_front_of(database.admin, certificate) as url:
        with pytest.raises(DatabaseNotTrusted, match="sslrootcert"):
            await check_sessions(at(url, f"sslmode=verify-full&sslrootcert={other.certificate}"))


async def test_a_name_that_the_certificate_does_not_have(database: ScratchDatabase, tmp_path: Path) -> None:
    certificate = self_signed(tmp_path)  # for 127.0.0.1 alone
    async with tls_in_front_of(database.admin, certificate) as url:
        by_name = url.replace("@127.0.0.1:", "@localhost:")
        with pytest.raises(DatabaseNotTrusted, match="sslrootcert"):
            await check_sessions(at(by_name, f"sslmode=verify-full&sslrootcert={certificate.certificate}"))


async def test_a_server_without_tls_is_refused(database: ScratchDatabase, tmp_path: Path) -> None:
    options = f"sslmode=verify-full&sslrootcert={self_signed(tmp_path).certificate}"
    with pytest.raises(Unavailable):
        await check_sessions(at("postgresql://postgres@127.0.0.1:1/postgres", options))
