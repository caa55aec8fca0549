"""The canary can sing: a secret that is said anywhere is found, and the test that said it fails."""

import base64
import logging
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote
from uuid import UUID

import pytest

from core.token_format import generate_token
from tests.support.canary import SUITE, Canary
from tests.support.canary_homes import hear_home
from tests.support.postgres import ScratchDatabase

ROOT = Path(__file__).parents[2]
SECRET = "s3cret/of+a vendor: never say it"
LEAKS = """
import logging

import pytest

from broker.vault.envelope import CiphertextContext
from broker.vault.key_wrapping import InMemoryKeyProvider
from core.secret import Secret
from core.token_format import generate_token


def test_innocent(caplog):
    generate_token()
    logging.getLogger("library").debug("a quiet line")
    assert not caplog.records


def test_a_token_at_debug():
    logging.getLogger("library").debug("sent %s", generate_token()[1].reveal())


def test_a_logger_that_tells_nobody():
    deaf = logging.getLogger("deaf")
    deaf.propagate = False
    deaf.info("x", extra={"sent": Secret("one-secret-of-a-vendor").reveal()})


async def test_what_the_keeper_of_keys_wrapped():
    plain = b"a key that is to be wrapped"
    await InMemoryKeyProvider("k", {"k": bytes(range(32))}).wrap(plain, b"")
    logging.getLogger("library").info("wrapped %s", plain.hex())


@pytest.fixture
def ends_badly():
    secret = Secret("two-secrets-of-a-vendor")
    yield
    logging.getLogger("library").info("closing %s", secret.reveal())


def test_at_its_end(ends_badly):
    pass


@pytest.mark.no_canary("says one on purpose")
def test_on_purpose():
    logging.getLogger("library").info(Secret("three-secrets-of-a-vendor").reveal())
"""


def test_the_test_that_leaks_fails(tmp_path: Path) -> None:
    (tmp_path / "test_leaks.py").write_text(LEAKS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n")
    command = [sys.executable, "-m", "pytest", "-p", "tests.support.canary_plugin", "-p", "no:cacheprovider", "-rA"]
    done = subprocess.run([*command, tmp_path], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    lines = done.stdout.splitlines()
    failed = {line.split("::")[1].split()[0]: line for line in lines if line.startswith("ERROR")}
    assert set(failed) == {
        "test_a_token_at_debug",
        "test_a_logger_that_tells_nobody",
        "test_what_the_keeper_of_keys_wrapped",
        "test_at_its_end",
    }, done.stdout
    assert "a secret can be read in: log of deaf (of test_leaks.py::test_a_logger_that_tells_nobody" in done.stdout
    assert sum(line.startswith("PASSED") for line in lines) == 6, done.stdout


@pytest.mark.guarantee("G6")
@pytest.mark.parametrize(
    "said",
    [
        SECRET,
        SECRET[:12],
        f"Basic {base64.b64encode(f'ada:{SECRET}'.encode()).decode()}",
        base64.urlsafe_b64encode(f"1:{SECRET}".encode()).decode(),
        f"/path?token={quote(SECRET)}",
        SECRET.encode().hex(),
    ],
    ids=["plain", "beginning", "basic", "base64url", "url", "hex"],
)
def test_however_it_is_spelled(said: str) -> None:
    canary = Canary()
    canary.watch(SECRET)
    canary.hear("a place", f"before {said} after".encode())
    canary.hear("another", b"nothing")
    with pytest.raises(AssertionError, match="a place") as caught:
        canary.check()
    assert "another" not in str(caught.value)
    assert SECRET[:12] not in str(caught.value)
    canary.check()


@pytest.mark.parametrize(
    ("secret", "part"),
    [
        ("postgresql://ada:p4ssw0rd-of-a-role@/x?host=y", "p4ssw0rd-of-a-role"),
        ('{"token_type": "Bearer", "access_token": "a-vendors-access-token"}', "a-vendors-access-token"),
        ("eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJlLW9mLWl0", "c2lnbmF0dXJlLW9mLWl0"),
        ("mcpist_refresh_" + "0a1B2c3D4e5F" * 4, "0a1B2c3D4e5F"),
        ("https://mcp.test/link/0a1B2c3D4e5F-0a1B2c3D4e5F_0a1B2c3D4e5F", "0a1B2c3D4e5F-0a1B2c3D4e5F_0a1B2c3D4e5F"),
        ("mcpist_ABCDEFGHIJKL0a1B2c3D4e5F6g7H", "0a1B2c3D4e5F6g7H"),
        ("Bearer 0a1B2c3D4e5F6g", "0a1B2c3D4e5F6g"),
    ],
)
def test_the_secret_part_is_enough_and_nothing_less(secret: str, part: str) -> None:
    canary = Canary()
    canary.watch(secret)
    assert canary.watches(part)
    assert not canary.watches(secret.replace(part, ""))


@pytest.mark.no_canary("says the secret part of a token")
def test_of_an_api_token_the_secret_part_is_watched() -> None:
    canary, token = Canary(), generate_token()[1].reveal()
    canary.watch(token)
    assert canary.watches(token[19:-6])
    assert not canary.watches(token[:19])


@pytest.mark.parametrize(
    "secret", ["x", "hunter2", "x" * 40, "0" * 32, "ada@a.test", str(UUID(int=0x1234567890ABCDEF << 64))]
)
def test_what_is_short_or_common_is_not_watched(secret: str) -> None:
    canary = Canary()
    canary.watch(secret)
    assert not canary.watches(secret * 3)


def test_what_was_said_before_it_was_known() -> None:
    canary = Canary()
    canary.hear("a place", SECRET.encode())
    canary.watch(SECRET)
    with pytest.raises(AssertionError, match="a place"):
        canary.check()


def test_much_is_searched_before_it_is_too_much() -> None:
    canary = Canary()
    canary.watch(SECRET)
    canary.hear("a place", SECRET.encode())
    canary.hear("another", bytes(1 << 20))
    assert canary.said == []
    with pytest.raises(AssertionError, match="a place"):
        canary.check()


def test_exceptions_and_their_causes() -> None:
    canary = Canary()
    canary.watch(SECRET)
    with canary.listening():
        try:
            try:
                raise ValueError(SECRET)
            except ValueError as error:
                raise RuntimeError("it failed") from error
        except RuntimeError:
            logging.getLogger("library").info("caught", exc_info=True)
    with pytest.raises(AssertionError, match="log of library"):
        canary.check()


def test_an_output_may_show_a_token_once() -> None:
    canary, token = Canary(), "mcpist_" + "0a1B2c3D4e5F6g7H" * 4
    link = "https://mcp.test/sign-in/link?code=" + "Z9y8X7w6V5u" * 4
    canary.hear_output("standard output", f"your token: {token}, your link: {link[:-1]}".encode())
    canary.check()
    canary.hear("standard error", token.encode())
    with pytest.raises(AssertionError, match="standard error"):
        canary.check()
    canary.hear("log", link.encode())
    with pytest.raises(AssertionError, match="log"):
        canary.check()


@pytest.mark.no_canary("a key in a log on purpose")
def test_the_keys_of_a_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    canary = Canary()
    monkeypatch.setattr("tests.support.canary_homes.SUITE", canary)
    home, key = tmp_path / "home", base64.b64encode(bytes(range(32)))
    (home / "keys").mkdir(parents=True)
    (home / "keys" / "vault-kek.json").write_text(f'{{"active": "ab12", "keys": {{"ab12": "{key.decode()}"}}}}')
    (tmp_path / "log").write_text(f"started with {bytes(range(32)).hex()}")
    hear_home(home)
    with pytest.raises(AssertionError, match="log of a product's process"):
        canary.check()


async def test_rows_of_a_database(database: ScratchDatabase, make_tenant) -> None:
    tenant = await make_tenant()
    SUITE.watch("ada-has-a-secret-name")
    async with database.admin_connection() as admin:
        await admin.execute("UPDATE core.users SET email = 'ada-has-a-secret-name@a.test'")
        await database.hear()
        await admin.execute("UPDATE core.users SET email = 'ada@a.test'")
    with pytest.raises(AssertionError, match=r"core\.users"):
        SUITE.check()
    assert tenant.users
