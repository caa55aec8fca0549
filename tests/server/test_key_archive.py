"""A file of keys belongs to the database's file that was written with it."""

from dataclasses import replace
from pathlib import Path

import pytest

from core.config.settings import Settings
from core.errors import Conflict, Invalid
from core.secret import Secret
from server.key_archive import back_up_keys, decrypt_key_files, write_key_files

PASSPHRASE = Secret("correct horse battery")
KEYS = ("vault-kek.json", "token-peppers.json", "audit-digest.json")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    folder = tmp_path / "home" / "keys"
    folder.mkdir(parents=True)
    for name in KEYS:
        (folder / name).write_text(f"{name} before")
        (folder / name).chmod(0o600)
    return Settings(home=tmp_path / "home")


def test_keys_that_change_meanwhile_make_no_file(settings: Settings, tmp_path: Path) -> None:
    target = tmp_path / "all.keys"
    with (
        pytest.raises(Conflict, match="changed while"),
        back_up_keys(settings, target, PASSPHRASE, force=False),
    ):
        (settings.home / "keys" / KEYS[0]).write_text("rotated")
    assert not target.exists()
    with back_up_keys(settings, target, PASSPHRASE, force=False):
        pass
    assert decrypt_key_files(target, PASSPHRASE)[f"keys/{KEYS[0]}"] == "rotated"


def test_public_keys_are_taken_from_where_the_settings_name_them(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "known.pem").write_text("public keys of gateways")
    (settings.home / "keys" / "consoles.pem").write_text("public keys of control planes")
    target = tmp_path / "all.keys"
    with back_up_keys(replace(settings, broker_gateways=tmp_path / "known.pem"), target, PASSPHRASE, force=False):
        pass
    write_key_files(tmp_path / "restored", decrypt_key_files(target, PASSPHRASE))
    restored = tmp_path / "restored" / "keys"
    assert (restored / "gateways.pem").read_text() == "public keys of gateways"
    assert (restored / "consoles.pem").read_text() == "public keys of control planes"
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in restored.iterdir())


def test_a_key_that_is_missing_ends_the_backup(settings: Settings, tmp_path: Path) -> None:
    (settings.home / "keys" / KEYS[1]).unlink()
    with (
        pytest.raises(Invalid, match=KEYS[1]),
        back_up_keys(settings, tmp_path / "all.keys", PASSPHRASE, force=False),
    ):
        pytest.fail("the database would be written")


def test_nothing_is_overwritten_and_nothing_else_is_written(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / KEYS[0]).write_text("another deployment's")
    with pytest.raises(Conflict, match=KEYS[0]):
        write_key_files(tmp_path, {f"keys/{KEYS[1]}": "new", f"keys/{KEYS[0]}": "new"})
    assert not (tmp_path / "keys" / KEYS[1]).exists()
    for name in ("keys/../../escaped", "/etc/passwd", "keys/authorized_keys"):
        with pytest.raises(Invalid, match="does not know"):
            write_key_files(tmp_path, {name: "new"})
