"""deploy/compose*.yaml: right by the Compose specification, and true of the product."""

import ipaddress
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import compose_spec
import pytest
from typer.main import get_command

from cli.app import build_app
from core.config.env import list_variables
from core.config.settings import Settings
from tests.deploy.compose_files import DEPLOY, FILES, interpolate, read, read_env_file

MADE = {
    "PUBLIC_URL": "https://mcp.example.com",
    "ADMIN_PASSWORD": "of-the-admin",
    "BROKER_PASSWORD": "of-the-broker",
    "GATEWAY_PASSWORD": "of-the-gateway",
    "CONSOLE_PASSWORD": "of-the-console",
    "WORKER_PASSWORD": "of-the-worker",
    "VALKEY_PASSWORD": "of-valkey",
}
SECRETS_OF = {
    "broker": {"of-the-broker"},
    "control": {"of-the-console"},
    "gateway": {"of-the-gateway", "of-valkey"},
    "worker": {"of-the-worker"},
    "valkey": {"of-valkey"},
    "proxy": set[str](),
}
"""The passwords that each process that serves knows; PostgreSQL and the operator's own have the administrator's."""
OUR_IMAGE = "mcpist"
SETTINGS = {variable.name for variable in list_variables(Settings).values()}
COMMANDS = set(get_command(build_app()).commands)  # pyright: ignore[reportAttributeAccessIssue]
PORT_OF_THE_IMAGE = int(re.search(r"^EXPOSE (\d+)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)[1])  # pyright: ignore


def services(name: str) -> dict[str, dict[str, Any]]:
    return read(name, MADE)["services"]


def ours(name: str) -> dict[str, dict[str, Any]]:
    return {key: service for key, service in services(name).items() if service["image"] == OUR_IMAGE}


@pytest.mark.parametrize("name", FILES)
def test_it_is_right_by_the_compose_specification(name: str) -> None:
    # This reader takes a tag or a digest; the specification's grammar of a reference, like Docker, takes both.
    text = re.sub(r"(image: [^@:\s]+):[^@\s]+@", r"\1@", interpolate((DEPLOY / name).read_text(), MADE))
    options = compose_spec.PyOptions(apply_merge=True)
    options.from_yaml(text).validate()
    with pytest.raises(ValueError, match="restrat"):
        options.from_yaml(text.replace("restart:", "restrat:")).validate()


@pytest.mark.parametrize("name", FILES)
def test_every_setting_and_command_is_the_products(name: str) -> None:
    assert ours(name)
    for key, service in ours(name).items():
        given = {name: value for name, value in service.get("environment", {}).items() if name.startswith("MCPIST_")}
        assert given.keys() <= SETTINGS, key
        Settings.from_environment(given)
        command = service["command"][0]
        word = re.search(r"\bmcpist (\w+)", command)[1] if "entrypoint" in service else command  # pyright: ignore
        assert word in COMMANDS, f"{key} runs {command}"


@pytest.mark.parametrize("name", FILES)
def test_every_port_is_the_one_that_the_image_listens_on(name: str) -> None:
    assert Settings.from_environment({}).port == PORT_OF_THE_IMAGE
    for key, service in ours(name).items():
        assert "MCPIST_PORT" not in service.get("environment", {}), key
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:")
            assert port.endswith(f":{PORT_OF_THE_IMAGE}")
    if name == "compose.yaml":
        for asking in ("gateway", "control", "worker"):
            assert services(name)[asking]["environment"]["MCPIST_BROKER_URL"] == f"http://broker:{PORT_OF_THE_IMAGE}"
        assert f"proxy_pass http://$process:{PORT_OF_THE_IMAGE};" in (DEPLOY / "nginx.conf").read_text()


@pytest.mark.parametrize("name", FILES)
def test_our_containers_have_no_more_rights_than_they_need(name: str) -> None:
    for service in ours(name).values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]


def test_every_other_image_is_named_by_its_digest() -> None:
    others = [service["image"] for service in services("compose.yaml").values() if service["image"] != OUR_IMAGE]
    assert others
    assert all(re.fullmatch(r"\S+:\S+@sha256:[0-9a-f]{64}", image) for image in others)


def test_the_grace_period_is_longer_than_a_drain() -> None:
    for service in ours("compose.yaml").values():
        if service["restart"] != "unless-stopped" or "entrypoint" in service:
            continue
        settings = Settings.from_environment(
            {name: str(value) for name, value in service["environment"].items() if name.startswith("MCPIST_")}
        )
        grace = int(service["stop_grace_period"].removesuffix("s"))
        assert grace >= settings.drain_delay + settings.call_timeout + 10


def test_the_database_is_reached_by_nobody_else() -> None:
    document = read("compose.yaml", MADE)
    assert document["networks"]["database"]["internal"] is True
    assert document["services"]["postgres"]["networks"] == ["database"]
    assert "database" not in document["services"]["proxy"]["networks"]
    assert "ports" not in document["services"]["postgres"]


@pytest.mark.parametrize("name", SECRETS_OF)
def test_a_process_that_serves_knows_no_password_but_its_own(name: str) -> None:
    service = services("compose.yaml")[name]
    assert {secret for secret in MADE.values() if secret in str(service)} - {MADE["PUBLIC_URL"]} == SECRETS_OF[name]


def test_the_brokers_folder_is_its_own_and_the_operators() -> None:
    having = {
        name for name, one in services("compose.yaml").items() if "/data:/var/lib/mcpist" in str(one.get("volumes"))
    }
    assert having == {"broker", "migrate", "retention", "operator", "backup"}
    folders = [str(services("compose.yaml")[name]["volumes"]) for name in ("broker", "control", "gateway")]
    assert len(set(folders)) == len(folders)


def test_whatever_has_the_administrators_login_listens_to_nobody() -> None:
    for name, service in ours("compose.yaml").items():
        if "of-the-admin" in str(service):
            assert name in {"migrate", "retention", "operator", "backup"}
            assert "inside" not in service["networks"], name
            assert service["healthcheck"] == {"disable": True}, name


def test_the_broker_trusts_the_address_of_the_proxy_and_of_the_control_plane() -> None:
    everything = services("compose.yaml")
    addresses = [everything[name]["networks"]["inside"]["ipv4_address"] for name in ("proxy", "control")]
    assert everything["broker"]["environment"]["MCPIST_TRUSTED_PROXIES"] == ",".join(addresses)
    for name in ("control", "gateway"):
        assert everything[name]["environment"]["MCPIST_TRUSTED_PROXIES"] == addresses[0]
    (pool,) = read("compose.yaml", MADE)["networks"]["inside"]["ipam"]["config"]
    assert all(ipaddress.ip_address(one) in ipaddress.ip_network(pool["subnet"]) for one in addresses)
    assert not any(ipaddress.ip_address(one) in ipaddress.ip_network(pool["ip_range"]) for one in addresses)


def test_valkey_is_reached_by_gateways_alone() -> None:
    document = read("compose.yaml", MADE)
    assert document["networks"]["limits"]["internal"] is True
    assert {name for name, one in document["services"].items() if "limits" in one["networks"]} == {"valkey", "gateway"}


def test_each_process_keeps_the_audit_log_as_long_as_the_one_that_shortens_it() -> None:
    everything = read("compose.yaml", {**MADE, "AUDIT_KEEP_MONTHS": "24"})["services"]
    kept = {name: everything[name]["environment"].get("MCPIST_AUDIT_KEEP_MONTHS") for name in ("control", "retention")}
    assert kept == {"control": "24", "retention": "24"}
    assert read("compose.yaml", MADE)["services"]["retention"]["environment"]["MCPIST_AUDIT_KEEP_MONTHS"] == "0"


def test_a_missing_preparation_is_named() -> None:
    with pytest.raises(KeyError, match=re.escape("run deploy/prepare.sh")):
        read("compose.yaml", {})


def prepare(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["sh", str(DEPLOY / "prepare.sh"), *arguments]
    owner = {"OWNER": f"{os.getuid()}:{os.getgid()}"}
    return subprocess.run(command, env={**os.environ, **owner}, capture_output=True, text=True, timeout=60)


def test_preparing_makes_private_files_once(tmp_path: Path) -> None:
    folder = tmp_path / "srv"
    assert prepare("https://mcp.example.com", str(folder)).returncode == 0
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert {path.relative_to(folder).as_posix() for path in files} == {
        "compose.env",
        "gateway/keys/audit-digest.json",
        "gateway/keys/gateway.pem",
        "console/keys/console.pem",
        "worker/keys/audit-digest.json",
        "worker/keys/worker.pem",
        "data/keys/audit-digest.json",
        "data/keys/consoles.pem",
        "data/keys/database-roles.json",
        "data/keys/gateways.pem",
        "data/keys/workers.pem",
    }
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.rglob("*"))
    again = prepare("https://mcp.example.com", str(folder))
    assert again.returncode == 0
    assert "prepared already" in again.stderr
    assert files == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert read("compose.yaml", read_env_file(folder / "compose.env"))["services"]


def test_preparing_adds_what_a_newer_version_needs(tmp_path: Path) -> None:
    folder = tmp_path / "srv"
    assert prepare("https://mcp.example.com", str(folder)).returncode == 0
    settings = folder / "compose.env"
    before = read_env_file(settings)
    lines = [
        line for line in settings.read_text().splitlines() if not line.startswith(("CONSOLE_", "VALKEY_", "WORKER_"))
    ]
    settings.write_text("\n".join(lines) + "\n")
    shutil.rmtree(folder / "console")
    shutil.rmtree(folder / "worker")
    for name in ("consoles.pem", "workers.pem"):
        (folder / "data" / "keys" / name).unlink()
    roles = folder / "data" / "keys" / "database-roles.json"
    old = {role: password for role, password in json.loads(roles.read_text()).items() if role != "mcpist_worker"}
    roles.write_text(json.dumps(old))
    kept = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path not in (settings, roles)}

    assert prepare("https://mcp.example.com", str(folder)).returncode == 0
    after = read_env_file(settings)
    assert after.pop("VALKEY_PASSWORD")
    assert json.loads(roles.read_text()) == {**old, "mcpist_worker": after.pop("WORKER_PASSWORD")}
    del before["VALKEY_PASSWORD"], before["WORKER_PASSWORD"]
    assert after == before, "the control plane's password is the one that the database has"
    assert (folder / "console" / "keys" / "console.pem").exists()
    assert kept == {path: path.read_bytes() for path in kept}


@pytest.mark.parametrize("interrupted", [False, True])
def test_preparing_takes_over_new_passwords_of_the_roles(tmp_path: Path, interrupted: bool) -> None:
    """Of the file as `mcpist migrate` leaves it; where that was interrupted it has the new and the old ones."""
    folder = tmp_path / "srv"
    assert prepare("https://mcp.example.com", str(folder)).returncode == 0
    settings, roles = folder / "compose.env", folder / "data" / "keys" / "database-roles.json"
    before, old = read_env_file(settings), json.loads(roles.read_text())
    made = {role: f"new-{role}_1/&" for role in old}
    roles.write_text(json.dumps({role: [made[role], old[role]] for role in old} if interrupted else made))
    done = prepare("https://mcp.example.com", str(folder))
    assert done.returncode == 0, done.stderr
    changed = {
        f"{name.upper()}_PASSWORD": made[f"mcpist_{name}"] for name in ("broker", "gateway", "console", "worker")
    }
    assert read_env_file(settings) == {**before, **changed}
    assert settings.stat().st_mode & 0o077 == 0
    assert all(name in done.stderr for name in changed)
    assert "docker compose" not in prepare("https://mcp.example.com", str(folder)).stderr, "once"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "name the URL that clients use"),
        (("mcp.example.com",), "is no URL such as"),
        (("https://mcp.example.com/path",), "has a path"),
    ],
)
def test_preparing_names_what_is_wrong(arguments: tuple[str, ...], told: str, tmp_path: Path) -> None:
    ended = prepare(*arguments, *([str(tmp_path / "srv")] if arguments else []))
    assert ended.returncode == 1
    assert told in ended.stderr
    assert not (tmp_path / "srv").exists()


def test_keys_without_their_settings_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "data" / "keys").mkdir(parents=True)
    (tmp_path / "data" / "keys" / "database-roles.json").write_text("{}")
    ended = prepare("https://mcp.example.com", str(tmp_path))
    assert ended.returncode == 1
    assert "restore that file" in ended.stderr
