"""The units of deploy/systemd: systemd accepts them, and counts how far a process of theirs reaches."""

import configparser
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command

from cli.app import build_app
from core.config.env import list_variables
from core.config.settings import Settings

UNITS = Path(__file__).resolve().parents[2] / "deploy" / "systemd"
SERVICES = sorted(path.name for path in UNITS.glob("*.service"))
TIMERS = sorted(path.name for path in UNITS.glob("*.timer"))
PROGRAM = "/opt/mcpist/bin/mcpist"
MOST_EXPOSURE = 1.5
"""Of 10; systemd calls less than 2 "OK", and 9.6 is what a unit without any of these lines has."""

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None,
    reason="THE UNITS WERE NOT TRIED: systemd-analyze is missing (apt-get install systemd)",
)


def read(name: str) -> configparser.RawConfigParser:
    unit = configparser.RawConfigParser(strict=False, delimiters=("=",), comment_prefixes=("#",))
    unit.optionxform = str  # pyright: ignore[reportAttributeAccessIssue]
    unit.read_string((UNITS / name).read_text())
    return unit


@pytest.fixture
def folder() -> Iterator[Path]:
    """The units as they are, but for the program, which is none of this machine's."""
    with tempfile.TemporaryDirectory() as made:
        for path in UNITS.glob("mcpist*.[st]*"):
            (Path(made) / path.name).write_text(path.read_text().replace(PROGRAM, "/bin/true"))
        yield Path(made)


@needs_systemd
@pytest.mark.parametrize("name", [*SERVICES, *TIMERS])
def test_systemd_accepts_the_unit(name: str, folder: Path) -> None:
    command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(folder / name)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")


@needs_systemd
def test_systemd_would_name_what_it_does_not_know(folder: Path) -> None:
    unit = folder / "mcpist.service"
    unit.write_text(unit.read_text().replace("UMask=", "Umsk="))
    ended = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, timeout=60
    )
    assert "Umsk" in ended.stderr


@needs_systemd
@pytest.mark.parametrize("name", SERVICES)
def test_the_unit_reaches_no_further_than_it_needs(name: str, folder: Path) -> None:
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(folder / name)]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    exposure = re.search(r"Overall exposure level for \S+: ([0-9.]+)", told)
    assert exposure, told
    assert float(exposure[1]) <= MOST_EXPOSURE, told


@pytest.mark.parametrize("name", SERVICES)
def test_every_setting_is_one_of_the_products(name: str) -> None:
    given = dict(pair.split("=", 1) for pair in read(name)["Service"]["Environment"].split())
    settings = {variable: value for variable, value in given.items() if variable.startswith("MCPIST_")}
    assert settings.keys() <= list_variables_of_the_product()
    Settings.from_environment(settings)


@pytest.mark.parametrize("name", SERVICES)
def test_the_unit_owns_its_data_folder_and_stops_after_what_runs(name: str) -> None:
    service = read(name)["Service"]
    assert f"MCPIST_HOME=/var/lib/{service['StateDirectory']}" in service["Environment"].split()
    assert service["StateDirectoryMode"] == "0700"
    if service["Type"] == "exec":
        delay = re.search(r"MCPIST_DRAIN_DELAY=(\d+)", service["Environment"])
        assert delay
        defaults = Settings.from_environment({})
        assert int(service["TimeoutStopSec"]) >= int(delay[1]) + defaults.call_timeout + 10
        assert service["ExecStart"].split()[0] == PROGRAM


def test_processes_with_other_keys_have_other_accounts_folders_and_ports() -> None:
    units = [read(f"mcpist-{kind}.service")["Service"] for kind in ("broker", "gateway", "console", "worker")]
    for name in ("User", "StateDirectory", "EnvironmentFile"):
        assert len({unit[name] for unit in units}) == len(units), name
    ports = {re.search(r"MCPIST_PORT=\d+", unit["Environment"])[0] for unit in units}  # pyright: ignore
    assert len(ports) == len(units)
    accounts = (UNITS / "mcpist.sysusers.conf").read_text()
    assert all(re.search(rf"^u {unit['User']} ", accounts, re.MULTILINE) for unit in units)


@pytest.mark.parametrize("name", SERVICES)
def test_the_unit_runs_a_command_of_the_product(name: str) -> None:
    commands = get_command(build_app()).commands  # pyright: ignore[reportAttributeAccessIssue]
    (word,) = re.findall(rf"{PROGRAM} (\w+)", read(name)["Service"]["ExecStart"])
    assert word in commands


@pytest.mark.parametrize("name", TIMERS)
def test_a_timer_has_its_service(name: str) -> None:
    service = read(name.replace(".timer", ".service"))
    assert service["Service"]["Type"] == "oneshot"
    assert not service.has_section("Install"), "the timer is what is enabled"


def list_variables_of_the_product() -> set[str]:
    return {variable.name for variable in list_variables(Settings).values()}
