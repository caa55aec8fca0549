"""A package that brings a module: its entry point and manifest, and what ends the start with the package's name."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import Invalid
from gateway.catalogue import load_installed_modules
from server.installed_manifests import load_installed_manifests
from tests.modules.packages.conftest import SOURCE

MANIFEST = (SOURCE / "raindrop_module" / "manifest.json").read_text("utf-8")
MODULE = """
from modules.kit import Module
MODULE = Module("toy", "Toy", "A toy.", frozenset(), ())
"""
TOY = '{"name": "toy", "title": "Toy", "description": "A toy.", "scopes": [], "tools": {}}'


@pytest.fixture(autouse=True)
def forget_imports() -> Iterator[None]:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.partition(".")[0].startswith("pack"):
            del sys.modules[name]


def install(site: Path, package: str, *, name: str = "toy", code: str = MODULE, manifest: str | None = TOY) -> None:
    """What an installer leaves behind: the package and its metadata."""
    (site / package).mkdir(parents=True)
    (site / package / "__init__.py").write_text(code)
    if manifest is not None:
        (site / package / "manifest.json").write_text(manifest)
    metadata = site / f"{package}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[mcpist.modules]\n{name} = {package}:MODULE\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_a_package_s_module_is_found(site: Path) -> None:
    install(site, "pack_one")
    assert "toy" in {module.name for module in load_installed_modules().modules}
    names = [manifest.name for manifest in load_installed_manifests()]
    assert "toy" in names
    assert names == sorted(names)


def test_its_code_does_not_run_for_its_manifest(site: Path) -> None:
    install(site, "pack_two", code="raise RuntimeError('run')")
    assert "toy" in {manifest.name for manifest in load_installed_manifests()}
    assert "pack_two" not in sys.modules


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"name": "github"}, "MCPist has a module of that name"),
        ({"name": "No-Name"}, "does not match"),
        ({"manifest": None}, "there is no manifest.json"),
        ({"manifest": "{"}, "manifest.json cannot be read"),
        ({"manifest": TOY.replace("toy", "other")}, "is the manifest of 'other'"),
    ],
)
def test_neither_gateway_nor_broker_starts(site: Path, changes: dict[str, str], told: str) -> None:
    install(site, "pack_bad", **changes)
    for load in (load_installed_modules, load_installed_manifests):
        with pytest.raises(Invalid, match=r"pack.bad 1\.0") as refused:
            load()
        assert told in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"code": "import no_such_thing"}, "import failed with ModuleNotFoundError"),
        ({"code": "raise RuntimeError('boom')"}, "import failed with RuntimeError: boom"),
        ({"code": "MODULE = 1"}, "is no modules.kit.Module"),
        ({"code": MODULE.replace('"toy"', '"other"')}, "another name than its module, 'other'"),
        ({"code": MODULE.replace("A toy.", "Another toy.")}, "differ in description"),
        ({"code": MODULE.replace("A toy.", ""), "manifest": TOY.replace("A toy.", "")}, "must be one line"),
    ],
)
def test_a_gateway_does_not_start_with_such_code(site: Path, changes: dict[str, str], told: str) -> None:
    install(site, "pack_bad", **changes)
    with pytest.raises(Invalid, match=r"pack.bad 1\.0") as refused:
        load_installed_modules()
    assert told in str(refused.value)


def test_two_packages_of_one_name(site: Path) -> None:
    install(site, "pack_three")
    install(site, "pack_four")
    with pytest.raises(Invalid, match="several packages have that name"):
        load_installed_manifests()


def test_the_example_s_manifest_is_what_its_code_declares() -> None:
    program = "import sys; sys.path.insert(0, sys.argv[1]); from raindrop_module import MODULE; "
    program += "from gateway.module_manifests import build_module_manifest as b; "
    program += "from core.module_manifest import encode_module_manifest as e; print(e(b(MODULE)).decode(), end='')"
    run = subprocess.run([sys.executable, "-c", program, str(SOURCE)], check=True, capture_output=True, text=True)
    assert run.stdout == MANIFEST, (
        "run: PYTHONPATH=tests/modules/packages/raindrop mcpist module manifest raindrop_module"
    )
