"""Import the modules of other Python packages, and hold them to their manifests."""

from core.module_manifest import ModuleManifest
from core.module_packages import ModulePackage, load_package_manifest
from gateway.module_manifests import build_module_manifest
from modules.kit import Module

MAX_ERROR_LENGTH = 300


def import_package_module(package: ModulePackage) -> Module:
    """Import the module of a package.

    Raises:
        core.errors.Invalid: the import fails, it is no module, or its code declares something else than its manifest.
    """
    manifest = load_package_manifest(package)
    try:
        module: object = package.entry_point.load()
    except Exception as error:  # noqa: BLE001 a package's code may raise anything; no request has run yet
        text = f"{type(error).__name__}: {error}"[:MAX_ERROR_LENGTH]
        raise package.build_error(f"its import failed with {text}") from None
    if not isinstance(module, Module):
        raise package.build_error(f"{package.entry_point.value} is no modules.kit.Module")
    if module.name != package.name:
        raise package.build_error(f"its entry point has another name than its module, {module.name!r}")
    if differences := _list_differences(build_module_manifest(module), manifest):
        hint = f"write it again by `mcpist module manifest {package.package}`"
        raise package.build_error(f"its code and its manifest differ in {', '.join(differences)}; {hint}")
    return module


def _list_differences(declared: ModuleManifest, shipped: ModuleManifest) -> list[str]:
    return [name for name in ModuleManifest.__struct_fields__ if getattr(declared, name) != getattr(shipped, name)]
