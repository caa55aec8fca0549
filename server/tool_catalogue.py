"""The tool catalogue of the control plane: the gateway's own catalogue, sieve and definitions, described for people."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from admin_ui.api.tool_catalogue import LocalizedText, ModelView, ModuleDescription, ToolDescription, ToolSchemas
from core.bilingual_text import BilingualText
from core.permissions import Policy
from server.tool_translations import load_translations

if TYPE_CHECKING:  # a quarter of a second of import, which a command that lists roles does without
    from gateway.catalogue import Catalogue, CatalogueTool
    from gateway.sieve.sieve import Sieve
    from modules.kit import Module


class InstalledToolCatalogue:
    """Implements :class:`admin_ui.api.tool_catalogue.ToolCatalogue`; the modules are loaded when first asked for."""

    def __init__(self, load_catalogue: "Callable[[], Catalogue]") -> None:
        self._load_catalogue = load_catalogue

    @cached_property
    def _catalogue(self) -> "Catalogue":
        return self._load_catalogue()

    @cached_property
    def _sieve(self) -> "Sieve":
        from gateway.sieve.sieve import Sieve

        return Sieve(self._catalogue)

    @cached_property
    def _modules(self) -> Mapping[str, ModuleDescription]:
        translations = load_translations()
        return {
            module.name: _describe_module(module, self._catalogue.tools[module.name], translations.get(module.name, {}))
            for module in self._catalogue.modules
        }

    def list_modules(self) -> Mapping[str, ModuleDescription]:
        """Return all modules by name."""
        return self._modules

    def find_schemas(self, module: str, tool: str) -> ToolSchemas:
        """Return the schemas of an installed tool."""
        found = next(entry for entry in self._catalogue.tools[module] if entry.tool.name == tool)
        return ToolSchemas(found.input_schema, found.output_schema or {})

    def list_permitted_tools(self, policy: Policy) -> Mapping[str, Sequence[str]]:
        """Return the names of the tools that exist under a policy, by module."""
        view = self._sieve.get_policy_view(policy)
        return {name: tuple(entry.tool.name for entry in module.tools) for name, module in view.modules.items()}

    def build_model_view(self, policy: Policy) -> ModelView:
        """Return what a model is shown under a policy."""
        from gateway.meta_tools.definitions import build_definitions, build_instructions

        view = self._sieve.get_policy_view(policy)
        return ModelView(
            build_instructions(view),
            build_definitions(view, has_tasks=True)["tools"],
            {name: list(module.schemas.values()) for name, module in view.modules.items()},
        )


def load_module_titles(catalogue: "Catalogue") -> Mapping[str, BilingualText]:
    """Load the display names of the installed modules, by module."""
    translations = load_translations()
    return {
        module.name: BilingualText(module.title, translations.get(module.name, {}).get("title", module.title))
        for module in catalogue.modules
    }


def _describe_module(
    module: "Module", tools: "Sequence[CatalogueTool]", translation: Mapping[str, Any]
) -> ModuleDescription:
    titles: Mapping[str, str] = translation.get("tools", {})
    return ModuleDescription(
        module.name,
        LocalizedText(module.title, translation.get("title", module.title)),
        LocalizedText(module.description, translation.get("description", module.description)),
        module.vendor is not None,
        {entry.tool.name: _describe_tool(entry, titles.get(entry.tool.name, "")) for entry in tools},
    )


def _describe_tool(entry: "CatalogueTool", japanese_title: str) -> ToolDescription:
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
    )
