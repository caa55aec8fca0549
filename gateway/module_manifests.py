"""Module manifests made of what the modules' code declares."""

from typing import TYPE_CHECKING

from core.module_manifest import AccountManifest, CapabilityKind, ModuleManifest, ToolManifest
from modules.kit import Module, VendorApi, build_json_schema

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
    for kind, declared in ((CapabilityKind.RESOURCE, module.resources), (CapabilityKind.PROMPT, module.prompts)):
        tools |= {one.name: ToolManifest(one.title, True, tuple(sorted(one.scopes)), kind) for one in declared}
    form, api = module.settings_form, module.vendor
    account = None if api is None else _build_account_manifest(api)
    return ModuleManifest(
        module.name,
        module.title,
        module.description,
        tuple(sorted(module.scopes)),
        tools,
        base_url="" if api is None else api.base_url,
        account=account,
        settings={} if form is None else dict(build_json_schema(form)),
        hosts={} if api is None else dict(api.hosts),
    )


def _build_account_manifest(api: VendorApi) -> AccountManifest:
    request = api.account
    return AccountManifest(request.path, request.name, dict(api.headers), request.rejection_statuses)
