"""The manifests of the installed modules, read without importing any of their code."""

from importlib.util import find_spec
from pathlib import Path

from core.module_manifest import ModuleManifest, load_module_manifests


def load_installed_manifests() -> tuple[ModuleManifest, ...]:
    """Load the manifests that were installed with the product.

    Raises:
        core.errors.Invalid: one is damaged; the text names its file.
    """
    spec = find_spec("modules")  # of a package without a parent: nothing is imported
    assert spec is not None, "modules/ is a part of the product"
    assert spec.origin is not None, "modules/ is a regular package"
    return load_module_manifests(Path(spec.origin).parent)
