"""The installed modules as the control plane describes them: from their manifests, without importing their code."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from admin_ui.api.installed_modules import InstalledModule, ModuleSettingValues
from core.bilingual_text import BilingualText
from core.module_manifest import ModuleManifest
from server.tool_translations import load_translations

if TYPE_CHECKING:  # a quarter of a second of import, which a command that lists roles does without
    from gateway.catalogue import Catalogue


def build_installed_modules(
    manifests: Iterable[ModuleManifest], load_catalogue: "Callable[[], Catalogue]"
) -> Mapping[str, InstalledModule]:
    """Describe modules by name. The catalogue is loaded when the settings of a service are changed: their form is code
    of the module."""
    translations = load_translations()
    return {
        manifest.name: _build_installed_module(manifest, translations.get(manifest.name, {}), load_catalogue)
        for manifest in manifests
    }


def _build_installed_module(
    manifest: ModuleManifest, translation: Mapping[str, Any], load_catalogue: "Callable[[], Catalogue]"
) -> InstalledModule:
    return InstalledModule(
        manifest.name,
        BilingualText(manifest.title, translation.get("title", manifest.title)),
        BilingualText(manifest.description, translation.get("description", manifest.description)),
        {name: tool.read_only for name, tool in manifest.tools.items()},
        partial(_apply_changes, load_catalogue, manifest.name) if manifest.settings else None,
        manifest.settings,
        manifest.base_url,
    )


def _apply_changes(
    load_catalogue: "Callable[[], Catalogue]", name: str, stored: ModuleSettingValues, changes: ModuleSettingValues
) -> ModuleSettingValues:
    from gateway.service_settings import apply_changes

    module = next(module for module in load_catalogue().modules if module.name == name)
    return apply_changes(module, stored, changes)
