"""Module manifests made of what the modules' code declares."""

from typing import TYPE_CHECKING

from core.module_manifest import AccountManifest, ModuleManifest, ToolManifest
from modules.kit import Module, build_json_schema

if TYPE_CHECKING:  # the catalogue compares the manifests of packages with their code
    from gateway.catalogue import Catalogue


def build_module_manifests(catalogue: "Catalogue") -> tuple[ModuleManifest, ...]:
    """Build the manifest of every module of a catalogue, in name order."""
    return tuple(build_module_manifest(module) for module in catalogue.modules)


def build_module_manifest(module: Module) -> ModuleManifest:
    """Build the manifest of one module."""
    tools = {
        tool.name: ToolManifest(tool.title, tool.hints.read_only, tuple(sorted(tool.scopes))) for tool in module.tools
    }
    scopes, api = tuple(sorted(module.scopes)), module.vendor
    if api is None:
        return ModuleManifest(module.name, module.title, module.description, scopes, tools)
    account = AccountManifest(api.account.path, api.account.name, dict(api.headers))
    settings = dict(build_json_schema(api.settings))
    whose = module.name, module.title, module.description
    return ModuleManifest(*whose, scopes, tools, api.base_url, account, settings, dict(api.hosts))
