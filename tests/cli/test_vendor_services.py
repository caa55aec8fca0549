"""Settings of services and the keys of the vault, at the command line."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from unittest import mock

import pytest

from modules.kit import VendorSettings
from tests.cli.conftest import Home
from tests.cli.hub import HUB, catalogue, hub_installed, manifests

PUBLIC = "https://93.184.215.14/api/v3"
PRIVATE = "http://127.0.0.1:8443"


@pytest.fixture(autouse=True)
def hub() -> Iterator[None]:
    with hub_installed():
        yield


def settings(cli: Home, tenant: str) -> object:
    listed = cli.run("service", "list", "--tenant", tenant, "--json").json()
    return next(one["settings"] for one in listed if one["module"] == "hub")


def test_set_and_unset(cli: Home, tenant: str) -> None:
    given = ("service", "set", "hub", "--tenant", tenant)
    cli.run("service", "enable", "hub", "--tenant", tenant)
    done = cli.run(*given, f"base_url={PUBLIC}", "timeout=60")
    assert (done.code, done.out, done.err) == (0, f"hub: base_url={PUBLIC}, timeout=60.0.\n", "")
    assert cli.run(*given, 'organizations=["a", "b"]', "--unset", "timeout", "--json").json() == {
        "module": "hub",
        "enabled": True,
        "settings": {"base_url": PUBLIC, "organizations": ["a", "b"]},
    }
    assert settings(cli, tenant) == {"base_url": PUBLIC, "organizations": ["a", "b"]}
    assert f"base_url={PUBLIC}" in cli.run("service", "list", "--tenant", tenant).out
    assert cli.run(*given, "--unset", "organizations", "--unset", "base_url").out == "hub: nothing set.\n"
    assert cli.run(*given, "--unset", "base_url").code == 0
    events = cli.run("audit", "--kind", "service.changed", "--tenant", tenant, "--json").json()["items"]
    assert [json.loads(one["detail"]["settings"]) for one in reversed(events)] == [
        {"base_url": PUBLIC, "timeout": 60.0},
        {"organizations": ["a", "b"], "timeout": None},
        {"base_url": None, "organizations": None},
    ]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("timout=5",), "did you mean timeout?"),
        (("timeout=soon",), "timeout: input should be a valid number"),
        (("timeout=0.5",), "Seconds that one request may take"),
        (("concurrency=1.5",), "concurrency: "),
        (("organizations=a",), "organizations: "),
        (('organizations=["a","b","c","d"]',), "organizations: "),
        (("base_url=github.example.com",), "base_url: it must look like https://host/path"),
        (("base_url=https://user:hunter2@host.example",), "base_url: it must look like"),
        (("base_url=https://[::1",), "base_url: it must look like"),
        (("base_url=https://host.example:99999",), "base_url: it must look like"),
        (("base_url=",), "base_url: it must look like"),
        ((f"uploads_url={PUBLIC}",), "uploads_url: it is only for a service whose base_url is set"),
        ((f"base_url={PUBLIC}", "uploads_url=https://u:hunter2@host.example"), "uploads_url: it must look like"),
        (("timeout",), "NAME=VALUE"),
        (("timeout=5", "timeout=6"), "timeout is given twice"),
        (("timeout=5", "--unset", "timeout"), "timeout is given twice"),
        (("--unset", "timout"), "did you mean timeout?"),
        ((), "concurrency (Requests at once with one credential; 1 to 100; default 8)"),
    ],
)
def test_a_wrong_setting_is_explained(cli: Home, tenant: str, given: tuple[str, ...], told: str) -> None:
    refused = cli.run("service", "set", "hub", *given, "--tenant", tenant)
    assert refused.code == 2
    assert told in refused.err
    assert "hunter2" not in refused.err
    assert settings(cli, tenant) == {}


def test_a_module_without_a_vendor(cli: Home, tenant: str) -> None:
    given = ("service", "set", "knowledge_graph", "--tenant", tenant)
    assert "max_entities (Entities that one person's graph may have; 1 to 50000; default 50000)" in cli.run(*given).err
    assert "there is no setting 'timeout'" in cli.run(*given, "timeout=5").err
    assert cli.run(*given, "max_entities=100").out == "knowledge_graph: max_entities=100.\n"
    missing = cli.run("service", "set", "hubb", "timeout=5", "--tenant", tenant)
    assert (missing.code, "did you mean hub?" in missing.err) == (4, True)


@pytest.mark.parametrize(
    ("base_url", "listed", "noted"),
    [
        (PUBLIC, "", None),
        (PRIVATE, "", "127.0.0.1:8443"),
        (PRIVATE, "127.0.0.1:8443", None),
        ("https://10.0.0.1", "", "10.0.0.1:443"),
        ("https://[FD00:0::1]/x", "", "[fd00::1]:443"),
        ("https://[FD00:0::1]/x", "[fd00::1]:443", None),
        ("https://localhost", "", "localhost:443"),
        ("http://93.184.215.14", "", "93.184.215.14:80"),
    ],
)
def test_a_private_base_url_is_noted(cli: Home, tenant: str, base_url: str, listed: str, noted: str | None) -> None:
    """Stored all the same: the server that runs may have been started with the host on its list."""
    cli.run("service", "enable", "hub", "--tenant", tenant)
    given = ("service", "set", "hub", f"base_url={base_url}", "--tenant", tenant)
    done = cli.run(*given, MCPIST_ALLOWED_PRIVATE_HOSTS=listed)
    assert done.code == 0
    assert settings(cli, tenant) == {"base_url": base_url}
    assert (f"MCPIST_ALLOWED_PRIVATE_HOSTS={noted}" in done.err) if noted else done.err == ""


def test_further_hosts_are_set_and_unset_with_the_base_url(cli: Home, tenant: str) -> None:
    given = ("service", "set", "hub", "--tenant", tenant)
    done = cli.run(*given, f"base_url={PUBLIC}", "uploads_url=https://10.0.0.1/up", MCPIST_ALLOWED_PRIVATE_HOSTS="")
    assert (done.code, "MCPIST_ALLOWED_PRIVATE_HOSTS=10.0.0.1:443" in done.err) == (0, True)
    assert settings(cli, tenant) == {"base_url": PUBLIC, "uploads_url": "https://10.0.0.1/up"}
    assert "unset both" in cli.run(*given, "--unset", "base_url").err
    assert cli.run(*given, "--unset", "base_url", "--unset", "uploads_url").code == 0
    assert settings(cli, tenant) == {}


def test_a_name_with_a_private_address_is_noted(cli: Home, tenant: str) -> None:
    async def private(_self: object, _host: str, _port: int) -> list[tuple[int, str]]:
        return [(2, "192.168.1.5")]

    cli.run("service", "disable", "hub", "--tenant", tenant)
    with mock.patch("core.http.outbound_addresses.SystemLookup.__call__", private):
        done = cli.run("service", "set", "hub", "base_url=https://git.acme.example", "--tenant", tenant)
    assert "git.acme.example:443 has an address in a private network" in done.err
    assert "mcpist service enable hub" in done.err


def test_settings_that_no_longer_fit_are_named(cli: Home, tenant: str) -> None:
    cli.run("service", "set", "hub", 'organizations=["a"]', "--tenant", tenant)
    with _hub_without_organizations():
        refused = cli.run("service", "set", "hub", "timeout=5", "--tenant", tenant)
        assert (refused.code, "organizations" in refused.err) == (2, True)
        assert cli.run("service", "set", "hub", "--unset", "organizations", "--tenant", tenant).code == 0


@contextlib.contextmanager
def _hub_without_organizations() -> Iterator[None]:
    """What is kept of the hub is made anew for the block, and again behind it."""
    assert HUB.vendor is not None
    other = replace(HUB, vendor=replace(HUB.vendor, settings=VendorSettings, hosts={}))
    with mock.patch("tests.cli.hub.HUB", other):
        _forget_hub()
        yield
    _forget_hub()


def _forget_hub() -> None:
    catalogue.cache_clear()
    manifests.cache_clear()


def test_keys_status(cli: Home) -> None:
    report = cli.run("keys", "status", "--json").json()
    assert report["file"] == str(cli.path / "keys" / "vault-kek.json")
    [key] = report["keys"]
    assert (key["active"], key["usable"]) == (True, True)
    shown = cli.run("keys", "status")
    assert key["kek_id"] in shown.out
    assert "apart from the backups" in shown.out
    secrets = json.loads((cli.path / "keys" / "vault-kek.json").read_text())["keys"].values()
    assert not any(secret in shown.out + json.dumps(report) for secret in secrets)


def test_a_key_that_is_missing_or_wrong(fresh: Home) -> None:
    assert fresh.run("migrate").code == 0
    assert fresh.run("tenant", "create", "acme", "--admin", "ada@example.com").code == 0
    assert fresh.run("keys", "status", "--json").json() == {
        "healthy": True,
        "file": str(fresh.path / "keys" / "vault-kek.json"),
        "key_providers": ["file"],
        "keys": [],
        "error": "",
        "to_rewrap": 0,
        "to_reencrypt": 0,
    }
    file, kept = fresh.path / "keys" / "vault-kek.json", fresh.path / "keys" / "kept"
    assert not file.exists()
    assert vault_check(fresh)["state"] == "warning"
    secret = fresh.path / "secret"
    secret.write_text("hub-secret")
    given = ("credential", "set", "hub", "--user", "ada@example.com", "--no-test", "--from-file", str(secret))
    assert fresh.run(*given).code == 0
    [key] = fresh.run("keys", "status", "--json").json()["keys"]
    assert (key["in_use"], key["tenants"], key["data_keys"], key["usable"]) == (True, 1, 1, True)
    assert vault_check(fresh)["state"] == "ok"

    file.rename(kept)
    missing = fresh.run("keys", "status", "--json")
    assert missing.code == 1
    [key] = json.loads(missing.out)["keys"]
    assert (key["available"], key["usable"], key["tenants"]) == (False, False, 1)
    assert vault_check(fresh) == {
        "check": "vault keys",
        "state": "error",
        "message": f"the key {key['kek_id']}, needed by one tenant, is missing: "
        f"restore it to {file} from your copy of the keys, or name its key provider in MCPIST_KEYS",
    }
    assert not file.exists()
    assert len(fresh.run("credential", "list", "--json").json()) == 1
    content = json.loads(kept.read_text())
    file.touch(0o600)
    file.write_text(json.dumps({**content, "keys": {key["kek_id"]: "A" * 43 + "="}}))
    wrong = fresh.run("keys", "status")
    assert (wrong.code, "not the key that credentials" in " ".join(wrong.out.split())) == (1, True)
    assert fresh.run(*given).code == 2
    kept.rename(file)
    assert fresh.run(*given).code == 0
    file.chmod(0o644)
    assert fresh.run("keys", "status").code == 2
    file.chmod(0o600)
    assert fresh.run("credential", "remove", "hub", "--user", "ada@example.com").code == 0


def vault_check(home: Home) -> dict[str, str]:
    checks = json.loads(home.run("doctor", "--json").out)["checks"]
    return next(one for one in checks if one["check"] == "vault keys")
