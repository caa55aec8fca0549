"""The file of the database roles' passwords, as a newer version finds it."""

import json
from pathlib import Path

import pytest

from core.database_url import DatabaseAddress
from core.errors import Invalid
from core.migrations import LOGIN_ROLES
from core.secret import Secret
from server.deployment import KEYS_FOLDER, PASSWORDS_FILE, open_deployment

ADMIN = DatabaseAddress(Secret("postgresql://admin@localhost/mcpist"))
OLD = {"mcpist_gateway": "g", "mcpist_console": ["new", "old"], "mcpist_broker": "b"}


def write(home: Path, text: str) -> Path:
    path = home / KEYS_FOLDER / PASSWORDS_FILE
    path.parent.mkdir(mode=0o700)
    path.write_text(text)
    path.chmod(0o600)
    return path


def test_a_role_that_came_later_gets_a_password_once(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps(OLD))
    opened, again = open_deployment(tmp_path, ADMIN), open_deployment(tmp_path, ADMIN)
    kept = json.loads(path.read_text())
    made = kept.pop("mcpist_worker")
    assert kept == OLD, "a rotation under way keeps both passwords"
    assert len(made) > 30
    assert path.stat().st_mode & 0o777 == 0o600
    assert opened.passwords.keys() == set(LOGIN_ROLES)
    assert opened.passwords["mcpist_worker"].reveal() == again.passwords["mcpist_worker"].reveal() == made


@pytest.mark.parametrize("text", ["{}", "[]", "no JSON", json.dumps({"mcpist_gateway": "g", "mcpist_worker": "w"})])
def test_a_damaged_file_stays_as_it_is(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(Invalid, match="is damaged"):
        open_deployment(tmp_path, ADMIN)
    assert path.read_text() == text
