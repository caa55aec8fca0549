"""Modules of other Python packages: found by their entry points, and known by their manifests without running them.

A package that MCPist cannot use ends the start: were it left out, its tools would be missing without a word.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

from core.errors import Invalid
from core.module_manifest import MANIFEST_FILE, ModuleManifest, decode_module_manifest
from core.names import MODULE_NAME_PATTERN

ENTRY_POINT_GROUP = "mcpist.modules"


@dataclass(frozen=True, slots=True)
class ModulePackage:
    """An installed package with a module. `name` is the module's, `package` the import package that holds its
    manifest, `distribution` what it was installed as, with its version."""

    name: str
    package: str
    distribution: str
    entry_point: EntryPoint

    def build_error(self, problem: str) -> Invalid:
        """Build the error that ends the start."""
        return Invalid(f"the module {self.name!r} of the package {self.distribution} cannot be used: {problem}")


def list_module_packages(taken: Collection[str]) -> tuple[ModulePackage, ...]:
    """List the installed packages that bring a module, in name order; `taken` are the names of the product's own.

    Raises:
        core.errors.Invalid: a name is not one, or is taken.
    """
    packages = sorted((_describe(one) for one in entry_points(group=ENTRY_POINT_GROUP)), key=lambda one: one.name)
    counts = Counter(package.name for package in packages)
    for package in packages:
        if not MODULE_NAME_PATTERN.fullmatch(package.name):
            raise package.build_error(f"its entry point's name does not match {MODULE_NAME_PATTERN.pattern}")
        if package.name in taken:
            raise package.build_error("MCPist has a module of that name; uninstall the package")
        if counts[package.name] > 1:
            others = ", ".join(one.distribution for one in packages if one.name == package.name)
            raise package.build_error(f"several packages have that name ({others}); uninstall all but one")
    return tuple(packages)


def load_package_manifest(package: ModulePackage) -> ModuleManifest:
    """Load the manifest that a package was installed with. None of its code runs.

    Raises:
        core.errors.Invalid: it has none, or one that is damaged or another module's.
    """
    path = _find_folder(package) / MANIFEST_FILE
    try:
        manifest = decode_module_manifest(path.read_bytes())
    except FileNotFoundError:
        hint = f"write it by `mcpist module manifest {package.package}` and ship it as package data"
        raise package.build_error(f"there is no {MANIFEST_FILE} in {package.package}; {hint}") from None
    except (OSError, ValueError) as error:
        raise package.build_error(f"{path} cannot be read ({error})") from None
    if manifest.name != package.name:
        raise package.build_error(f"{path} is the manifest of {manifest.name!r}")
    return manifest


def _describe(entry_point: EntryPoint) -> ModulePackage:
    distribution = entry_point.dist
    shown = f"{distribution.name} {distribution.version}" if distribution is not None else entry_point.value
    # The outermost package: a lookup of one below it would import it.
    return ModulePackage(entry_point.name, entry_point.module.partition(".")[0], shown, entry_point)


def _find_folder(package: ModulePackage) -> Path:
    spec = find_spec(package.package)
    if spec is None or spec.origin is None or not spec.submodule_search_locations:
        raise package.build_error(f"{package.package} is no package that can be imported; install it again")
    return Path(spec.origin).parent
