"""Backup, restore, doctor, migrate."""

import json
import shutil
import stat
from pathlib import Path
from typing import Any
from unittest import mock

import httpx2

from tests.cli.conftest import Home, running
from tests.cli.hub import hub_installed
from tests.support.canary import SUITE

ADA = json.dumps({"entities": [{"name": "Ada", "entityType": "person", "observations": []}]})


def test_backup_and_restore(cli: Home, tenant: str, fresh: Home, tmp_path: Path) -> None:
    cli.run("call", "knowledge_graph", "create_entities", "--params", ADA, "--tenant", tenant)
    file = tmp_path / "all.dump"
    done = cli.run("backup", str(file))
    assert done.code == 0
    assert str(cli.path / "keys") in done.err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert cli.run("backup", str(file)).code == 5
    assert cli.run("backup", str(file), "--force", "--json").json()["bytes"] == file.stat().st_size

    restored = fresh.run("restore", str(file))
    assert restored.code == 0
    assert str(fresh.path / "keys") in restored.err
    for name in ("vault-kek.json", "token-peppers.json", "audit-digest.json"):
        assert name in restored.err
        shutil.copy2(cli.path / "keys" / name, fresh.path / "keys")
    graph = fresh.run("call", "knowledge_graph", "read_graph", "--tenant", tenant, "--json").json()
    assert [one["name"] for one in graph["entities"]] == ["Ada"]
    verified = fresh.run("audit", "verify", "--json").json()
    assert all(one["ok"] for one in verified)
    again = fresh.run("restore", str(file), "--json")
    assert again.code == 1
    assert "not empty" in again.error()["message"]


def test_no_key_is_in_a_backup(cli: Home, tmp_path: Path) -> None:
    file = tmp_path / "all.dump"
    assert cli.run("backup", str(file)).code == 0
    content = file.read_bytes()
    files = list((cli.path / "keys").iterdir())
    assert {"vault-kek.json", "token-peppers.json", "audit-digest.json"} <= {file.name for file in files}
    for path in files:
        secrets = secrets_in(json.loads(path.read_text()))
        assert secrets, path.name
        assert [secret for secret in secrets if secret.encode() in content] == [], path.name


def test_the_keys_go_into_a_file_of_their_own(cli: Home, tenant: str, fresh: Home, tmp_path: Path) -> None:
    dump, keys, passphrase = tmp_path / "all.dump", tmp_path / "all.keys", tmp_path / "passphrase"
    passphrase.write_text("correct horse battery\n")
    passphrase.chmod(0o600)
    files = ("--keys-file", str(keys), "--passphrase-file", str(passphrase))
    done = cli.run("backup", str(dump), *files, "--json").json()
    assert done["keys_file"] == str(keys)
    assert stat.S_IMODE(keys.stat().st_mode) == 0o600
    for name in ("vault-kek.json", "token-peppers.json", "audit-digest.json"):
        found = secrets_in(json.loads((cli.path / "keys" / name).read_text()))
        assert [one for one in found if one in keys.read_text() or one.encode() in dump.read_bytes()] == []
    assert cli.run("backup", str(tmp_path / "again.dump"), *files).code == 5, "the file of the keys is there"
    assert not (tmp_path / "again.dump").exists()

    passphrase.write_text("another horse battery\n")
    refused = fresh.run("restore", str(dump), *files, "--json")
    assert "does not open" in refused.error()["message"]
    assert not fresh.path.exists() or not list(fresh.path.iterdir()), "nothing was made"
    passphrase.write_text("correct horse battery\n")
    assert fresh.run("restore", str(dump), *files).code == 0
    for name in ("vault-kek.json", "token-peppers.json", "audit-digest.json"):
        assert (fresh.path / "keys" / name).read_bytes() == (cli.path / "keys" / name).read_bytes()
    assert fresh.run("call", "knowledge_graph", "read_graph", "--tenant", tenant, "--json").code == 0


def test_a_file_of_keys_that_is_wrong(fresh: Home, cli: Home, tmp_path: Path) -> None:
    passphrase, keys, dump = tmp_path / "passphrase", tmp_path / "all.keys", str(tmp_path / "all.dump")
    passphrase.write_text("correct horse battery\n")
    passphrase.chmod(0o600)
    files = ("--keys-file", str(keys), "--passphrase-file", str(passphrase), "--json")

    def refuse(content: bytes) -> str:
        keys.write_bytes(content)
        return fresh.run("restore", dump, *files).error()["message"]

    assert "no file of keys" in refuse(b"\x00\xff" * 1000)
    assert "no file of keys" in refuse(b"[" * 2**19)
    assert "no file of keys" in refuse(b"{}" + b" " * 2**20)
    assert "damaged" in refuse(b'{"format": "mcpist-keys-1", "salt": 1}')
    assert "damaged" in refuse(b'{"format": "mcpist-keys-1", "salt": "", "nonce": "", "files": ""}')
    keys.unlink()
    assert "cannot be read" in fresh.run("restore", dump, *files).error()["message"]
    passphrase.write_text("too short")
    assert "at least 12" in cli.run("backup", dump, *files).error()["message"]
    alone = cli.run("backup", dump, "--passphrase-file", str(passphrase), "--json")
    assert "--keys-file" in alone.error()["message"]
    assert not Path(dump).exists()


def secrets_in(document: Any) -> list[str]:
    """Every text of a key file that is no short name."""
    if isinstance(document, dict):
        return [secret for value in document.values() for secret in secrets_in(value)]
    return [document] if isinstance(document, str) and len(document) >= 32 else []


def test_not_a_backup(fresh: Home, tmp_path: Path) -> None:
    file = tmp_path / "no.dump"
    file.write_text("no")
    assert fresh.run("restore", str(file)).code == 1
    assert fresh.run("restore", str(tmp_path / "nothing")).code == 1


def test_doctor_on_a_running_product(cli: Home) -> None:
    with hub_installed():  # other tests of this data folder have used it
        report = cli.run("doctor", "--json").json()
    assert report["healthy"]
    checks = {one["check"]: one for one in report["checks"]}
    assert checks["product"]["message"].startswith("running and ready")
    assert {one["state"] for one in report["checks"] if one["check"] != "credential"} == {"ok"}
    assert checks.keys() >= {"data folder", "keys", "database", "schema", "clock", "audit log", "role mcpist_gateway"}


def test_doctor_on_nothing(fresh: Home) -> None:
    report = fresh.run("doctor", "--json")
    assert report.code == 1
    assert not json.loads(report.out)["healthy"]
    assert "mcpist up" in report.out
    assert not fresh.path.exists()


def test_doctor_finds_keys_that_others_can_read(cli: Home) -> None:
    key, copy = cli.path / "keys" / "token-peppers.json", cli.path / "keys" / "copy"
    copy.touch()
    for path in (key, copy):
        path.chmod(0o644)
    try:
        report = cli.run("doctor", "--json")
        with mock.patch("cli.client.operator_api.find_operator_access", return_value=None):  # it has read its keys
            failed = cli.run("token", "list", "--tenant", "default", "--all")
    finally:
        key.chmod(0o600)
        copy.unlink()
    assert report.code == 1
    found = [one["message"] for one in json.loads(report.out)["checks"] if one["state"] == "error"]
    assert [f"chmod go= '{copy}'" in found[0], f"chmod 600 {key}" in found[1]] == [True, True]
    assert failed.code == 2
    assert "chmod" in failed.err


def test_migrate_makes_what_a_deployment_without_up_begins_with(fresh: Home) -> None:
    made = fresh.run("migrate", "--first-access", "--json").json()
    path = Path(made.pop("first_access_file"))
    assert path.parent == fresh.path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert made["changed"]
    for name in ("keys/vault-kek.json", "keys/token-peppers.json", "keys/audit-digest.json", "deployment-id"):
        assert (fresh.path / name).exists(), name
    first = json.loads(path.read_text())
    SUITE.hear_output("the file of the first access", path.read_bytes())
    keys = {file: file.read_bytes() for file in (fresh.path / "keys").iterdir()}

    again = fresh.run("migrate", "--first-access", "--json").json()
    assert (again["changed"], "first_access_file" in again) == (False, False)
    assert keys == {file: file.read_bytes() for file in (fresh.path / "keys").iterdir()}
    assert json.loads(path.read_text()) == first, "what nobody has read yet stays"
    with running(fresh) as product:
        assert "api_token" not in product.ready, "this is no first start"
        me = httpx2.get(
            f"http://127.0.0.1:{fresh.port}/api/v1/me",
            headers={"Authorization": f"Bearer {first['api_token']}"},
            trust_env=False,
        )
        assert me.json()["email"] == "admin@localhost"
        assert fresh.run("doctor").code == 0


def test_doctor_finds_a_taken_port_and_an_old_schema(fresh: Home) -> None:
    import socket

    assert fresh.run("migrate", "--json").json()["changed"]
    assert not fresh.run("migrate", "--json").json()["changed"]
    with socket.create_server(("127.0.0.1", fresh.port)):
        report = fresh.run("doctor", "--json")
    assert report.code == 1
    checks = {one["check"]: one for one in json.loads(report.out)["checks"]}
    assert "MCPIST_PORT" in checks["product"]["message"]
    assert checks["schema"]["state"] == "ok"
    assert "mcpist up" in checks["tenants"]["message"]
    assert fresh.run("user", "list").code == 4
