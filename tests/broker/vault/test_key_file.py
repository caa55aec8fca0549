"""The key file while it is used: changed whole, by one at a time, and read again without a restart."""

import json
import logging
import threading
from pathlib import Path

import pytest

from broker.vault.key_providers import FileKeyProvider
from broker.vault.key_wrapping import activate_key, add_key, load, load_or_create, remove_key
from core.errors import Conflict, Invalid, NotFound


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "keys" / "vault-kek.json"
    load_or_create(made)
    return made


async def test_what_is_changed_counts_at_once(path: Path) -> None:
    keys = FileKeyProvider(path)
    first = await keys.get_active_id()
    old = await keys.wrap(b"plain", b"context")
    second = add_key(path)
    assert (keys.has(second), await keys.get_active_id()) == (True, first)
    activate_key(path, second)
    new = await keys.wrap(b"plain", b"context")
    assert (old.kek_id, new.kek_id) == (first, second)
    for wrapped in (old, new):
        assert await keys.unwrap(wrapped.kek_id, wrapped.blob, b"context") == b"plain"
    assert remove_key(path, first)
    assert not remove_key(path, first)
    assert keys.kek_ids == {second}
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.iterdir()) == [path]


async def test_the_active_key_stays_and_unknown_ones_are_named(path: Path) -> None:
    active = load(path).active
    with pytest.raises(Conflict, match="activate another one first"):
        remove_key(path, active)
    with pytest.raises(NotFound, match="keys status"):
        activate_key(path, "nothing")
    activate_key(path, active)
    assert load(path).active == active


def test_two_commands_at_once_lose_no_key(path: Path) -> None:
    made: list[str] = []
    threads = [threading.Thread(target=lambda: made.append(add_key(path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    file = load(path)
    assert len(made) == 8
    assert file.keys.keys() == {*made, file.active}


async def test_a_file_that_cannot_be_read_leaves_the_keys_that_were_read(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keys, kept = FileKeyProvider(path), path.read_text()
    wrapped = await keys.wrap(b"plain", b"context")
    path.write_text("{}")
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            assert await keys.unwrap(wrapped.kek_id, wrapped.blob, b"context") == b"plain"
    assert len(caplog.records) == 1
    assert "restore it" in await keys.find_problem()
    path.unlink()
    assert await keys.unwrap(wrapped.kek_id, wrapped.blob, b"context") == b"plain"
    path.write_text(kept)
    path.chmod(0o640)
    assert "chmod 600" in await keys.find_problem()
    path.chmod(0o600)
    assert await keys.find_problem() == ""
    assert await keys.get_active_id() == json.loads(kept)["active"]


def test_a_damaged_file_is_not_changed(path: Path) -> None:
    path.write_text('{"active": "a", "keys": {}}')
    for change in (add_key, lambda file: remove_key(file, "a"), lambda file: activate_key(file, "a")):
        with pytest.raises(Invalid, match="restore it"):
            change(path)
    assert path.read_text() == '{"active": "a", "keys": {}}'
