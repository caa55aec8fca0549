"""`mcpist keys` on a data folder: a whole rotation, its refusals, and a restored copy."""

import contextlib
import io
import json
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests.cli.conftest import Ended, Home, new_home, running
from tests.cli.hub import HubServer, hub_installed, hub_server

SECRET = "canary-of-the-keys-5d1c"
CHANGES = ("add", "activate", "rewrap", "reencrypt", "retire")


@pytest.fixture(scope="module")
def hub() -> Iterator[HubServer]:
    with hub_installed(), hub_server() as server:
        server.accounts = {SECRET: "ada-at-hub"}
        yield server


@pytest.fixture(scope="module")
def home(hub: HubServer) -> Iterator[Home]:
    """A data folder with a running product and one stored credential. The tests change its keys one after another."""
    with new_home() as bare, running(bare):
        home = Home(bare.path, bare.port, {"MCPIST_ALLOWED_PRIVATE_HOSTS": f"127.0.0.1:{hub.port}"})
        for arguments in (
            ("service", "enable", "hub"),
            ("service", "set", "hub", f"base_url={hub.url}"),
        ):
            assert home.run(*arguments).code == 0
        with mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(SECRET.encode()))):
            stored = home.run("credential", "set", "hub", "--user", admin(home), "--stdin")
        assert stored.code == 0, stored.err
        yield home


def admin(home: Home) -> str:
    return home.run("user", "list", "--json").json()[0]["email"]


def call(home: Home) -> Ended:
    return home.run("call", "hub", "look", "--json")


def status(home: Home) -> dict[str, dict[str, object]]:
    return {key["kek_id"]: key for key in home.run("keys", "status", "--json").json()["keys"]}


def active(home: Home) -> str:
    return next(kek_id for kek_id, key in status(home).items() if key["active"])


@pytest.mark.guarantee("G8")
def test_a_whole_rotation_beside_a_running_product(home: Home, hub: HubServer) -> None:
    file = home.path / "keys" / "vault-kek.json"
    old = active(home)
    new: str = home.run("keys", "add", "--json").json()["id"]
    assert active(home) == old
    assert home.run("keys", "retire", old).code == 5
    assert home.run("keys", "activate", new).code == 0
    assert active(home) == new

    refused = home.run("keys", "retire", old, "--json")
    assert (refused.code, "keys rewrap" in refused.error()["message"]) == (5, True)
    assert home.run("keys", "rewrap", "--json").json() == {"kek_id": new, "data_keys": 1, "signing_keys": 2}
    assert home.run("keys", "rewrap", "--json").json() == {"kek_id": new, "data_keys": 0, "signing_keys": 0}
    assert [status(home)[old][name] for name in ("tenants", "data_keys", "signing_keys")] == [0, 0, 0]
    assert home.run("keys", "reencrypt", "--json").json() == {"data_keys": 1, "secrets": 1, "busy": 0, "damaged": 0}
    retired = home.run("keys", "retire", old)
    assert retired.code == 0
    assert "out of the key file" in retired.out
    assert "Backups" in retired.err
    assert list(json.loads(file.read_text())["keys"]) == [new]
    assert status(home).keys() == {new}
    assert call(home).code == 0
    assert hub.asked[-1] == SECRET

    listed = home.run("audit", "--deployment", "--kind", "key", "--json").json()["items"]
    steps = [(one["kind"], one["detail"].get("step"), one["detail"]["key"]) for one in listed
             if one["detail"]["purpose"] == "vault"]  # fmt: skip
    assert sorted(steps, key=str) == sorted(
        [
            ("key.created", "add", new),
            ("key.rotated", "activate", new),
            *[("key.rotated", "rewrap", new)] * 2,
            ("key.rotated", "reencrypt", new),
            ("key.retired", None, old),
        ],
        key=str,
    )


def test_refusals_say_what_to_do(home: Home) -> None:
    for arguments, code, told in (
        (("activate", "nothing"), 4, "keys status"),
        (("retire", "nothing"), 4, "keys status"),
        (("retire", active(home)), 5, "activate another"),
    ):
        refused = home.run("keys", *arguments, "--json")
        assert refused.code == code
        assert told in refused.error()["message"]


def test_a_key_service_in_the_settings(home: Home) -> None:
    """The file's keys are not named: nothing is done without them, and the operator is told."""
    url = "vault-transit:http://127.0.0.1:9/transit/mcpist"
    refused = home.run("keys", "rewrap", MCPIST_KEYS=url)
    assert (refused.code, "MCPIST_KEYS" in refused.err) == (2, True)
    assert home.run("keys", "add", MCPIST_KEYS=url).code == 2
    assert home.run("keys", "activate", active(home), MCPIST_KEYS=f"{url},file").code == 5
    away = home.run("keys", "status", MCPIST_KEYS=f"{url},file")
    assert (away.code, "HashiCorp Vault) is away" in away.out) == (1, True)
    doctor = home.run("doctor", "--json", MCPIST_KEYS=f"{url},file")
    (finding,) = [one for one in json.loads(doctor.out)["checks"] if one["check"] == "vault keys"]
    assert (finding["state"], "is away" in finding["message"]) == ("error", True)
    assert home.run("keys", "status", MCPIST_KEYS="vault-transit:http://vault.example.com/transit/x").code == 2


@pytest.mark.parametrize("command", CHANGES)
def test_each_has_help(home: Home, command: str) -> None:
    shown = home.run("keys", command, "--help")
    assert shown.code == 0
    assert "--json" in shown.out
    assert "Example:" in shown.out


@pytest.mark.guarantee("G16")
def test_a_restored_copy_asks_nobody_until_it_is_adopted(home: Home, hub: HubServer, tmp_path: Path) -> None:
    assert call(home).code == 0
    asked = len(hub.asked)
    assert home.run("backup", str(tmp_path / "all.dump")).code == 0
    with copied(home, tmp_path / "all.dump") as (copy, restored):
        assert "mcpist adopt" in restored.err
        with running(copy) as product:
            refused = call(copy)
            assert (refused.code, "copy" in refused.err, "adopt" in refused.err) == (1, True, True), refused.err
            tested = copy.run("credential", "test", "hub")
            assert tested.code != 0
            assert SECRET not in tested.out + tested.err
            with mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(SECRET.encode()))):
                stored = copy.run("credential", "set", "hub", "--user", admin(copy), "--stdin")
            assert (stored.code != 0, "mcpist adopt" in stored.err) == (True, True), stored.err
            assert len(hub.asked) == asked, "nobody was asked anything"
            assert original(copy)["state"] == "error"
            assert "mcpist adopt" in original(copy)["message"]
            assert call(home).code == 0, "the original goes on"
            assert original(home)["state"] == "ok"

            adopted = copy.run("adopt")
            assert adopted.code == 0
            assert call(copy).code == 0
            assert original(copy)["state"] == "ok"
            assert "copy of its database" in product.stop(signal.SIGTERM).err


def test_a_copy_is_adopted_while_it_is_restored(home: Home, tmp_path: Path) -> None:
    assert home.run("backup", str(tmp_path / "all.dump")).code == 0
    with copied(home, tmp_path / "all.dump", "--adopt") as (copy, restored):
        assert "mcpist adopt" not in restored.err
        assert call(copy).code == 0


@contextlib.contextmanager
def copied(home: Home, dump: Path, *options: str) -> Iterator[tuple[Home, Ended]]:
    """The backup in a data folder of its own, with copies of the keys."""
    with new_home(migrated=False) as bare:
        copy = Home(bare.path, bare.port, home.more)
        restored = copy.run("restore", str(dump), *options)
        assert restored.code == 0, restored.err
        for name in ("vault-kek.json", "token-peppers.json", "audit-digest.json"):
            shutil.copy2(home.path / "keys" / name, copy.path / "keys")
        yield copy, restored


def original(home: Home) -> dict[str, str]:
    checks = json.loads(home.run("doctor", "--json").out)["checks"]
    return next(one for one in checks if one["check"] == "deployment")


@pytest.mark.guarantee("G8")
def test_a_command_that_is_killed_half_way_is_run_again(home: Home, tmp_path: Path) -> None:
    """Killed before its first transaction commits and after it, a command leaves a state that works."""
    old, new = active(home), home.run("keys", "add", "--json").json()["id"]
    assert home.run("keys", "activate", new).code == 0
    before: Any = status(home)[old]["data_keys"]
    assert before > 0
    for point, left in (("rewrapping", before), ("rewrapped", before - 1)):
        kill_at(home, tmp_path, point, "keys", "rewrap")
        assert status(home)[old]["data_keys"] == left
        assert call(home).code == 0
    assert home.run("keys", "rewrap", "--json").json()["data_keys"] == before - 1
    for point in ("reencrypting", "reencrypted"):
        kill_at(home, tmp_path, point, "keys", "reencrypt")
        assert call(home).code == 0
    done = home.run("keys", "reencrypt", "--json").json()
    assert (done["data_keys"], done["secrets"]) == (0, 0), "the second of the killed commands had done it"
    for kek_id in [kek_id for kek_id in status(home) if kek_id != new]:
        assert home.run("keys", "retire", kek_id).code == 0
    assert call(home).code == 0


def kill_at(home: Home, folder: Path, point: str, *arguments: str) -> None:
    """Run a command up to a fail-point and kill it there."""
    process = home.start_held(folder, point, *arguments)
    process.kill()
    process.communicate()
