"""An installed wheel brings its migrations along and leaves the library's folder alone."""

import contextlib
import fcntl
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import aiohttp
import pytest

from core.migration_scripts import get_migration_scripts_path
from tests.support.eventually import within
from tests.support.running_product import data_folder, free_port, start
from tools import console
from tools.lock import clean_environment
from tools.locked import read_locked

ROOT = Path(__file__).resolve().parents[2]


def _require_console() -> None:
    """Build the console unless it is built; skips the test where that is impossible."""
    try:
        console.build()
    except console.BuildError as error:
        pytest.skip(f"THE CONSOLE IS NOT BUILT, the wheel was not tried with it: {error}")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a source distribution, so that this is seen to be complete as well."""
    with contextlib.suppress(console.BuildError):  # the test of the console skips then
        console.build()
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), "."]
    with (tmp_path_factory.getbasetemp().parent / "wheel.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two builds at once would write the same files in the source folder
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(out.glob("*.whl"))


def names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def test_a_clone_uses_its_own_migrations() -> None:
    assert get_migration_scripts_path() == ROOT / "alembic"


def test_every_migration_is_in_the_wheel(wheel: Path) -> None:
    sources = (path for path in (ROOT / "alembic").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    expected = {f"core/_alembic/{path.relative_to(ROOT / 'alembic').as_posix()}" for path in sources}
    assert expected
    assert {name for name in names(wheel) if name.startswith("core/_alembic/")} == expected


def test_the_wheel_holds_the_product_and_nothing_else(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in names(wheel)}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "admin_ui",
        "broker",
        "cli",
        "core",
        "gateway",
        "jobs",
        "modules",
        "search",
        "server",
    }


def test_installed_code_finds_the_installed_migrations(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    ask = "from core.migration_scripts import get_migration_scripts_path; print(get_migration_scripts_path())"
    # -S leaves out the editable install; the folder stands for site-packages.
    answer = subprocess.run([sys.executable, "-S", "-c", ask], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert Path(answer.stdout.strip()) == tmp_path / "core" / "_alembic"


def test_the_providers_are_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read("broker/providers.toml") == (ROOT / "broker" / "providers.toml").read_bytes()


def test_the_module_manifests_are_in_the_wheel(wheel: Path) -> None:
    manifests = [path.relative_to(ROOT).as_posix() for path in (ROOT / "modules").glob("*/manifest.json")]
    assert manifests
    with zipfile.ZipFile(wheel) as archive:
        assert all(archive.read(name) == (ROOT / name).read_bytes() for name in manifests)


def test_every_file_that_the_product_reads_is_in_the_wheel(wheel: Path) -> None:
    packages = [name for name in names(wheel) if name.count("/") == 1 and name.endswith("/__init__.py")]
    folders = sorted(name.removesuffix("/__init__.py") for name in packages)
    listed = subprocess.run(["git", "ls-files", "-z", *folders], cwd=ROOT, check=True, capture_output=True, text=True)
    wanted = {name for name in listed.stdout.split("\0") if name and not name.startswith("admin_ui/console/")}
    assert "broker/web/templates/base.html" in wanted
    assert not wanted - names(wheel)


def test_the_built_console_is_in_the_wheel_and_its_sources_are_not(wheel: Path) -> None:
    _require_console()
    built = {
        f"admin_ui/console_dist/{path.relative_to(console.OUTPUT).as_posix()}" for path in _list_files(console.OUTPUT)
    }
    assert "admin_ui/console_dist/index.html" in built
    assert {name for name in names(wheel) if name.startswith("admin_ui/console_dist/")} == built
    assert not [name for name in names(wheel) if name.startswith("admin_ui/console/")]
    with zipfile.ZipFile(wheel) as archive:
        for name in built:
            assert archive.read(name) == (ROOT / name).read_bytes()


def _list_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _write_constraints(folder: Path) -> Path:
    """The locked versions, as a tool that resolves by itself takes them."""
    path = folder / "constraints.txt"
    path.write_text("".join(f"{one.name}=={one.version}\n" for one in read_locked("runtime")))
    return path


def _install_by_pipx(wheel: Path, folder: Path) -> tuple[str, ...]:
    """pipx in an environment of its own, as an operator's machine has it."""
    _run([sys.executable, "-m", "venv", str(folder / "tools")], {})
    _run([str(folder / "tools" / "bin" / "pip"), "install", "-q", "pipx"], {})
    own = {"PIPX_HOME": str(folder / "pipx"), "PIPX_BIN_DIR": str(folder / "bin")}
    pip = ["--pip-args", f"--constraint {_write_constraints(folder)}"]
    _run([str(folder / "tools" / "bin" / "pipx"), "install", "--python", sys.executable, *pip, str(wheel)], own)
    return (str(folder / "bin" / "mcpist"),)


def _install_by_uvx(wheel: Path, folder: Path) -> tuple[str, ...]:
    uvx = [str(Path(sys.executable).with_name("uvx")), "--no-config", "--python", sys.executable, "--isolated"]
    command = (*uvx, "--constraints", str(_write_constraints(folder)), "--from", str(wheel), "mcpist")
    _run([*command, "--version"], {})
    return command


def _run(command: list[str], variables: dict[str, str]) -> None:
    """Run an installer; the test is skipped where the registry is out of reach."""
    ended = subprocess.run(command, env={**clean_environment(), **variables}, capture_output=True, text=True)
    if ended.returncode and re.search("ConnectionError|NewConnectionError|Could not fetch|dns error", ended.stderr):
        pytest.skip(f"THE WHEEL WAS NOT INSTALLED: the registry is out of reach ({command[0]})")
    assert ended.returncode == 0, ended.stderr


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("install", [_install_by_pipx, _install_by_uvx])
async def test_the_wheel_alone_is_the_whole_product(
    install: Callable[[Path, Path], tuple[str, ...]], wheel: Path, tmp_path: Path
) -> None:
    _require_console()
    program = install(wheel, tmp_path)
    with data_folder(migrated=False) as home:
        product = await start(home, free_port(), program=program)
        try:
            async with aiohttp.ClientSession(f"http://127.0.0.1:{product.port}") as http:
                for path, told in {"/readyz": '"ready":true', "/console/": "<title>", "/docs": "<main"}.items():
                    await within(30, partial(_tells, http, path, told))
        finally:
            await product.end()


async def _tells(http: aiohttp.ClientSession, path: str, told: str) -> bool:
    async with http.get(path) as answer:
        return answer.status == 200 and told in await answer.text()
