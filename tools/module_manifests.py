"""Write modules/<name>/manifest.json from what each module's code declares: python -m tools.module_manifests."""

from pathlib import Path

from core.module_manifest import MANIFEST_FILE, encode_module_manifest
from gateway.catalogue import load_installed_modules
from gateway.module_manifests import build_module_manifests

MODULES = Path(__file__).parent.parent / "modules"


def render() -> dict[Path, bytes]:
    """The content of every manifest, by its path."""
    return {
        MODULES / manifest.name / MANIFEST_FILE: encode_module_manifest(manifest)
        for manifest in build_module_manifests(load_installed_modules())
    }


if __name__ == "__main__":
    for path, content in render().items():
        path.write_bytes(content)
