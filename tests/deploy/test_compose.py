"""deploy/compose*.yaml: right by the Compose specification, and true of the product."""

import os
import re
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

MADE = {"PUBLIC_URL": "https://mcp.example.com", "ADMIN_PASSWORD": "a", "BROKER_PASSWORD": "b", "GATEWAY_PASSWORD": "g"}
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
        assert services(name)["gateway"]["environment"]["MCPIST_BROKER_URL"] == f"http://broker:{PORT_OF_THE_IMAGE}"
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
        if service["restart"] != "unless-stopped":
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


def test_a_gateway_gets_neither_the_brokers_folder_nor_the_admins_password() -> None:
    text = (DEPLOY / "compose.yaml").read_text()
    gateway = read("compose.yaml", {**MADE, "ADMIN_PASSWORD": "of-the-admin"})["services"]["gateway"]
    assert "of-the-admin" in str(read("compose.yaml", {**MADE, "ADMIN_PASSWORD": "of-the-admin"}))
    assert "of-the-admin" not in str(gateway)
    assert not [volume for volume in gateway["volumes"] if "/data:" in volume]
    assert text.count("/data:/var/lib/mcpist") == 4  # migrate, control, broker and backup


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
        "data/keys/audit-digest.json",
        "data/keys/database-roles.json",
        "data/keys/gateways.pem",
    }
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.rglob("*"))
    again = prepare("https://mcp.example.com", str(folder))
    assert again.returncode == 0
    assert "prepared already" in again.stderr
    assert files == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert read("compose.yaml", read_env_file(folder / "compose.env"))["services"]


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
    ended = prepare("https://mcp.example.com", str(tmp_path))
    assert ended.returncode == 1
    assert "restore that file" in ended.stderr
