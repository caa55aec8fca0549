"""The tool catalogue of the control plane: the gateway's own catalogue, sieve and definitions, described for people."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from admin_ui.api.tool_catalogue import LocalizedText, ModelView, ModuleDescription, ToolDescription, ToolSchemas
from core.bilingual_text import BilingualText
from core.module_manifest import CapabilityKind
from core.permissions import Policy
from core.tool_exposure import ToolExposure, View, choose_exposure_of_roles
from server.tool_translations import load_translations

if TYPE_CHECKING:  # a quarter of a second of import, which a command that lists roles does without
    from gateway.catalogue import Catalogue, CatalogueTool
    from gateway.plain_view.plain_tools import PlainTools
    from gateway.sieve.sieve import Sieve
    from modules.kit import Module


class InstalledToolCatalogue:
    """Implements :class:`admin_ui.api.tool_catalogue.ToolCatalogue`; the modules are loaded when first asked for."""

    def __init__(self, load_catalogue: "Callable[[], Catalogue]") -> None:
        self._load_catalogue = load_catalogue
        self._plain_view_problems: dict[CatalogueTool, str] = {}

    @cached_property
    def _catalogue(self) -> "Catalogue":
        return self._load_catalogue()

    @cached_property
    def _sieve(self) -> "Sieve":
        from gateway.sieve.sieve import Sieve

        return Sieve(self._catalogue)

    @cached_property
    def _plain_tools(self) -> "PlainTools":
        from gateway.plain_view.plain_tools import PlainTools

        return PlainTools(self._catalogue)

    @cached_property
    def _modules(self) -> Mapping[str, ModuleDescription]:
        translations = load_translations()
        return {
            module.name: _describe_module(self._catalogue, module, translations.get(module.name, {}))
            for module in self._catalogue.modules
        }

    def list_modules(self) -> Mapping[str, ModuleDescription]:
        """Return all modules by name."""
        return self._modules

    def find_schemas(self, module: str, tool: str) -> ToolSchemas:
        """Return the schemas of an installed tool; of a resource or prompt, that of its arguments alone."""
        found = next(entry for entry in self._catalogue.list_capabilities(module) if entry.tool.name == tool)
        return ToolSchemas(found.input_schema, (found.output_schema or {}) if found.kind is CapabilityKind.TOOL else {})

    def find_plain_view_problem(self, module: str, tool: str) -> str:
        """Return why an installed tool is left out of the plain view; empty where it is not, or is no tool."""
        from gateway.plain_view.schemas import find_schema_problem

        found = next((entry for entry in self._catalogue.tools[module] if entry.name == tool), None)
        if found is None:
            return ""
        if found not in self._plain_view_problems:
            self._plain_view_problems[found] = find_schema_problem(found.input_schema)
        return self._plain_view_problems[found]

    def list_permitted_tools(self, policy: Policy) -> Mapping[str, Sequence[str]]:
        """Return the names of the tools, resources and prompts that exist under a policy, by module."""
        view = self._sieve.get_policy_view(policy)
        names: dict[str, list[str]] = {}
        for entry in view.list_capabilities():
            names.setdefault(entry.module, []).append(entry.name)
        return names

    def is_offered(self, kind: CapabilityKind, name: str) -> bool:
        """Check whether an installed module has a resource with this URI, or a prompt with this name."""
        if kind is CapabilityKind.PROMPT:
            return any(one.prompt.name == name for prompts in self._catalogue.prompts.values() for one in prompts)
        resources = (one for of_module in self._catalogue.resources.values() for one in of_module)
        return any(template.match(name) is not None for one in resources for template in one.templates)

    def build_model_view(self, policy: Policy) -> ModelView:
        """Return what a model is shown under a policy."""
        from gateway.meta_tools.definitions import build_definitions, build_instructions, build_plain_instructions

        view = self._sieve.get_policy_view(policy)
        exposure = choose_exposure_of_roles(role.tool_exposure for role in policy.roles)
        has_meta = exposure.has_meta_tools
        plain = self._plain_tools.get_list(view, exposure if exposure.has_plain_tools else ToolExposure(View.PLAIN))
        return ModelView(
            exposure,
            build_instructions(view) if has_meta else build_plain_instructions(view),
            build_definitions(view, has_tasks=True)["tools"] if has_meta else (),
            (found for name in plain.tools if (found := plain.define(name, has_tasks=True)) is not None),
            {name: list(module.schemas.values()) for name, module in view.modules.items()},
            [
                self._modules[entry.module].tools[entry.name]
                for entry in view.list_capabilities()
                if entry.kind is not CapabilityKind.TOOL
            ],
        )


def load_module_titles(catalogue: "Catalogue") -> Mapping[str, BilingualText]:
    """Load the display names of the installed modules, by module."""
    translations = load_translations()
    return {
        module.name: BilingualText(module.title, translations.get(module.name, {}).get("title", module.title))
        for module in catalogue.modules
    }


def _describe_module(catalogue: "Catalogue", module: "Module", translation: Mapping[str, Any]) -> ModuleDescription:
    titles: Mapping[str, str] = translation.get("tools", {})
    uris = {one.resource.name: one.resource.uris[0] for one in catalogue.resources.get(module.name, ())}
    tools = catalogue.list_capabilities(module.name)
    return ModuleDescription(
        module.name,
        LocalizedText(module.title, translation.get("title", module.title)),
        LocalizedText(module.description, translation.get("description", module.description)),
        module.vendor is not None,
        {entry.name: _describe_tool(entry, titles.get(entry.name, ""), uris.get(entry.name, "")) for entry in tools},
    )


def _describe_tool(entry: "CatalogueTool", japanese_title: str, uri: str) -> ToolDescription:
    tool = entry.tool
    return ToolDescription(
        entry.module,
        tool.name,
        LocalizedText(tool.title, japanese_title or tool.title),
        tool.description.replace("`", ""),
        tool.hints.read_only,
        tool.hints.destructive,
        tool.hints.idempotent,
        tool.hints.open_world,
        entry.kind,
        uri,
    )
