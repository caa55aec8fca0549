"""The broker's process runs no code of a module and loads no package of the gateway."""

import subprocess
import sys

from gateway.catalogue import load_installed_modules
from server.installed_manifests import load_installed_manifests
from tools.module_manifests import render

LIST = """
import sys
from server.standalone import run_broker
from server.installed_manifests import load_installed_manifests
from server.wiring.admin_api import build_admin_api
assert load_installed_manifests()
print(*sorted(name for name in sys.modules if name.split(".")[0] in ("gateway", "modules", "admin_ui")))
"""


def test_the_broker_s_process_loads_no_code_of_a_module_or_the_gateway() -> None:
    run = subprocess.run([sys.executable, "-c", LIST], check=True, capture_output=True, text=True)
    assert run.stdout.split() == []


def test_manifests_are_what_the_modules_code_declares() -> None:
    for path, content in render().items():
        assert path.read_bytes() == content, "run: python -m tools.module_manifests"


def test_every_module_has_a_manifest() -> None:
    manifests = {manifest.name: manifest for manifest in load_installed_manifests()}
    catalogue = load_installed_modules()
    assert list(manifests) == [module.name for module in catalogue.modules]
    for module in catalogue.modules:
        assert {name: (tool.kind, tool.read_only) for name, tool in manifests[module.name].tools.items()} == {
            entry.tool.name: (entry.kind, entry.read_only) for entry in catalogue.list_capabilities(module.name)
        }


def test_a_module_with_a_vendor_says_whose_a_credential_is() -> None:
    vendors = {module.name for module in load_installed_modules().modules if module.vendor is not None}
    assert {manifest.name for manifest in load_installed_manifests() if manifest.has_vendor} == vendors
    for manifest in load_installed_manifests():
        assert (manifest.account is not None) == manifest.has_vendor
        assert ("base_url" in manifest.settings.get("properties", {})) == manifest.has_vendor
