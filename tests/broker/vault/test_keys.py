"""Key-encryption keys: the file, several ids, and the check that tells a wrong key before any harm is done."""

import base64
import json
import threading
from pathlib import Path
from uuid import UUID

import pytest

from broker.vault.envelope import DecryptionError, KeyMissing, join_length_prefixed
from broker.vault.key_checks import check_keys, list_key_states
from broker.vault.key_wrapping import InMemoryKeyProvider, load_or_create
from broker.vault.vault import open_vault
from core.errors import Invalid
from tests.broker.broker_harness import BrokerHarness

K1, K2 = b"k" * 32, b"2" * 32


def test_the_file_is_made_once_and_read_by_nobody_else(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "vault-kek.json"
    made = load_or_create(path)
    assert load_or_create(path) == made
    assert (path.stat().st_mode & 0o777, len(made.keys[made.active])) == (0o600, 32)
    assert list(path.parent.iterdir()) == [path]
    path.chmod(0o640)
    with pytest.raises(Invalid, match="chmod 600"):
        load_or_create(path)


def test_two_at_once_read_the_same_keys(tmp_path: Path) -> None:
    path, found, ready = tmp_path / "kek.json", [], threading.Barrier(8)

    def start() -> None:
        ready.wait()
        found.append(load_or_create(path))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(file == found[0] for file in found)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"active": "a", "keys": {}}',
        '{"active": "a", "keys": {"a": "YQ=="}}',
        '{"active": "a", "keys": {"a": "not base64!"}}',
        '{"active": "a", "keys": {"a": 1}}',
        json.dumps({"active": "b", "keys": {"a": base64.b64encode(K1).decode()}}),
    ],
)
def test_a_damaged_file_says_what_to_do(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kek.json"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(Invalid, match="restore it"):
        load_or_create(path)


def test_nothing_prints_a_key(tmp_path: Path) -> None:
    path = tmp_path / "kek.json"
    file = load_or_create(path)
    for printed in (repr(file), str(file), repr(InMemoryKeyProvider.from_file(path))):
        assert repr(file.keys[file.active])[2:-1] not in printed
        assert base64.b64encode(file.keys[file.active]).decode() not in printed


async def test_wrapped_keys_are_bound_to_their_context_and_key() -> None:
    keys = InMemoryKeyProvider("k2", {"k1": K1, "k2": K2})
    wrapped = await keys.wrap(b"data key", b"context")
    assert wrapped.kek_id == "k2"
    assert await keys.unwrap("k2", wrapped.blob, b"context") == b"data key"
    for kek_id, blob, context in (
        ("k2", wrapped.blob, b"other"),
        ("k1", wrapped.blob, b"context"),
        ("k2", wrapped.blob[:-1], b"context"),
        ("k2", b"", b"context"),
    ):
        with pytest.raises(DecryptionError):
            await keys.unwrap(kek_id, blob, context)
    with pytest.raises(KeyMissing, match="k3"):
        await keys.unwrap("k3", wrapped.blob, b"context")


async def test_the_frozen_wrapping_and_key_check() -> None:
    """Made by hand, as the frozen blobs of the envelope were."""
    keys = InMemoryKeyProvider("k1", {"k1": bytes(range(32, 64))})
    deployment, tenant = bytes([0x11]) * 16, bytes([0x22]) * 16
    dek = UUID("00112233-4455-6677-8899-aabbccddeeff")
    context = join_length_prefixed(b"mcpist.vault.dek.1", deployment, tenant, dek.bytes)
    wrapped = "0102030405060708090a0b0c7d3483529591ce9a421635cc2cace5e30fcee9d212775299cd66db0055c2e5"
    wrapped += "7227b00a16337611dd460565031d09b88a"
    assert await keys.unwrap("k1", bytes.fromhex(wrapped), context) == bytes(range(32))
    assert keys.compute_check_value("k1").hex() == "84828a0cd18d3fa0f473d9b77e0afbe6c22b10e68c5a87701326b019c5c632b1"


async def test_a_wrong_or_missing_key_stops_the_start(app: BrokerHarness) -> None:
    tenant = await app.tenant("acme")
    role = await app.role(tenant, "team")
    await check_keys(app.trusted, InMemoryKeyProvider("other", {"other": K2}))  # nothing is sealed yet
    await app.put(tenant, role, "secret-1")
    await check_keys(app.trusted, InMemoryKeyProvider("k2", {"k1": K1, "k2": K2}))
    for wrong, text in (
        (InMemoryKeyProvider("k1", {"k1": K2}), "k1 is not the key"),
        (InMemoryKeyProvider("k2", {"k2": K2}), "k1 is missing"),
        (InMemoryKeyProvider("k2", {"k1": K2, "k2": K1}), "k1 is not the key"),
    ):
        with pytest.raises(Invalid, match=text):
            await open_vault(app.trusted, wrong, clock=app.clock)


async def test_what_the_operator_sees_of_the_keys(app: BrokerHarness) -> None:
    tenant = await app.tenant("acme")
    await app.put(tenant, await app.role(tenant, "team"), "secret-1")
    states = await list_key_states(app.trusted, InMemoryKeyProvider("k2", {"k0": K2, "k2": K2}))
    assert [(s.kek_id, s.active, s.available, s.in_use, s.is_genuine) for s in states] == [
        ("k0", False, True, False, True),
        ("k1", False, False, True, False),
        ("k2", True, True, False, True),
    ]


async def test_a_key_swapped_while_running_seals_nothing(app: BrokerHarness) -> None:
    """Another process with another key of the same id: the first new data key notices."""
    one, two = await app.tenant("one"), await app.tenant("two")
    await app.put(one, await app.role(one, "team"), "secret-1")
    role = await app.role(two, "team")
    app.keys._keys["k1"] = K2
    with pytest.raises(Invalid, match="k1"):
        await app.put(two, role, "secret-2")
    assert await app.stored(two) == []
