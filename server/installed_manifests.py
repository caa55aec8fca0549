"""The manifests of the installed modules, read without importing any of their code."""

from importlib.util import find_spec
from pathlib import Path

from core.module_manifest import ModuleManifest, load_module_manifests
from core.module_packages import list_module_packages, load_package_manifest


def load_installed_manifests() -> tuple[ModuleManifest, ...]:
    """Load the manifests that were installed with the product and with packages that bring a module, in name order.

    Raises:
        core.errors.Invalid: one is damaged, or a package cannot be used; the text names its file or the package.
    """
    spec = find_spec("modules")  # of a package without a parent: nothing is imported
    assert spec is not None, "modules/ is a part of the product"
    assert spec.origin is not None, "modules/ is a regular package"
    own = load_module_manifests(Path(spec.origin).parent)
    packages = list_module_packages([manifest.name for manifest in own])
    return tuple(sorted([*own, *map(load_package_manifest, packages)], key=lambda manifest: manifest.name))
