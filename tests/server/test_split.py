"""What a gateway beside a broker refuses to start with, and what its process may open."""

import json
import logging
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from core.config.settings import Settings
from core.errors import Invalid
from core.secret import Secret
from server.deployment import DIGEST_KEY_FILE, GATEWAY_ROLE, KEYS_FOLDER
from server.standalone import open_remote_broker, open_role_deployment
from tests.support.postgres import PASSWORDS, ScratchDatabase

BROKER = "http://127.0.0.1:1"


def url_as(database: ScratchDatabase, role: str, password: str = "") -> Secret:
    parts = urlsplit(database.admin.url.reveal())
    login = f"{role}:{password or PASSWORDS[role].reveal()}"
    return Secret(f"{parts.scheme}://{login}@{parts.netloc.rpartition('@')[2]}{parts.path}?{parts.query}")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A gateway's folder."""
    (tmp_path / KEYS_FOLDER).mkdir()
    path = tmp_path / KEYS_FOLDER / DIGEST_KEY_FILE
    path.write_text(json.dumps({"key": "k"}))
    path.chmod(0o600)
    return tmp_path


def settings(home: Path, url: Secret, broker: str = BROKER) -> Settings:
    return Settings(home=home, database_url=url, broker_url=broker)


async def refusal(given: Settings) -> str:
    with pytest.raises(Invalid) as refused:
        async with open_role_deployment(given, lambda _: None, GATEWAY_ROLE):
            pass
    return str(refused.value)


async def test_its_own_role_and_no_other(database: ScratchDatabase, home: Path) -> None:
    given = settings(home, url_as(database, "mcpist_gateway"))
    async with open_role_deployment(given, lambda _: None, GATEWAY_ROLE) as deployment:
        assert deployment.digest_key == Secret("k")
        assert deployment.passwords == {}
        assert deployment.get_role_address("mcpist_gateway").connect_args()["dsn"]
        for other in ("mcpist_broker", "mcpist_console"):
            with pytest.raises(Invalid, match="logs in as mcpist_gateway"):
                deployment.get_role_address(other)
    assert [path.name for path in home.rglob("*") if path.is_file()] == [DIGEST_KEY_FILE]


@pytest.mark.parametrize("role", ["mcpist_broker", "mcpist_console"])
async def test_another_role_is_refused(database: ScratchDatabase, home: Path, role: str) -> None:
    told = await refusal(settings(home, url_as(database, role)))
    assert "as mcpist_gateway" in told
    assert PASSWORDS[role].reveal() not in told
    assert "as mcpist_gateway" in await refusal(settings(home, database.admin.url)), "a superuser knows no row policy"


async def test_a_wrong_password_is_told_at_once(database: ScratchDatabase, home: Path) -> None:
    told = await refusal(settings(home, url_as(database, "mcpist_gateway", "not-the-password")))
    assert "MCPIST_DATABASE_URL" in told
    assert "not-the-password" not in told


async def test_a_missing_digest_key_is_not_made(database: ScratchDatabase, tmp_path: Path) -> None:
    told = await refusal(settings(tmp_path, url_as(database, "mcpist_gateway")))
    assert "copy it" in told
    assert list(tmp_path.iterdir()) == []


async def test_its_key(home: Path) -> None:
    given = Settings(home=home, broker_url=BROKER)
    async with open_remote_broker(given):
        assert (home / KEYS_FOLDER / "gateway.pem").stat().st_mode & 0o777 == 0o600
    missing = Settings(home=home, broker_url=BROKER, gateway_key=home / "none.pem")
    with pytest.raises(Invalid, match=r"none\.pem"):
        async with open_remote_broker(missing):
            pass


@pytest.mark.parametrize(
    ("url", "warned"),
    [("http://broker.internal:80", True), ("http://127.0.0.1:1", False), ("http://[::1]:1", False),
     ("https://broker.internal", False), ("unix:/run/b.sock", False)],
)  # fmt: skip
async def test_plain_http_to_another_machine_is_told(
    home: Path, caplog: pytest.LogCaptureFixture, url: str, warned: bool
) -> None:
    caplog.set_level(logging.WARNING)
    async with open_remote_broker(Settings(home=home, broker_url=url)):
        pass
    assert any("plain http" in record.getMessage() for record in caplog.records) == warned


@pytest.mark.parametrize(
    ("text", "read"),
    [("http://b:1/", "http://b:1"), ("https://b", "https://b"), ("unix:/run/b.sock", "unix:/run/b.sock"),
     ("unix:b.sock", None), ("http://b/x", None), ("ftp://b", None), ("http://u:p@b", None),
     ("unix:/" + "x" * 100, None)],
)  # fmt: skip
def test_the_broker_s_url(text: str, read: str | None) -> None:
    if read is None:
        with pytest.raises(Invalid, match="MCPIST_BROKER_URL"):
            Settings.from_environment({"MCPIST_BROKER_URL": text, "MCPIST_HOME": "/x"})
    else:
        assert Settings.from_environment({"MCPIST_BROKER_URL": text, "MCPIST_HOME": "/x"}).broker_url == read
