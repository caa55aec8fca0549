"""Installed tools as the control plane describes them; the composition root passes in what knows the modules' code."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from core.module_manifest import CapabilityKind
from core.permissions import Policy
from core.tool_exposure import ToolExposure


@dataclass(frozen=True, slots=True)
class LocalizedText:
    """A text in both languages; without a translation the Japanese one is the English."""

    en: str
    ja: str


_OFFERED_KINDS = frozenset({CapabilityKind.RESOURCE, CapabilityKind.PROMPT})
BATCH_TITLE = LocalizedText("Batch", "バッチ")


@dataclass(frozen=True, slots=True)
class ToolDescription:
    """A tool for people, or a resource or prompt. `description` is plain text of its module's author; `uri` the URI
    template of a resource."""

    module: str
    name: str
    title: LocalizedText
    description: str
    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool
    kind: CapabilityKind = CapabilityKind.TOOL
    uri: str = ""


@dataclass(frozen=True, slots=True)
class ModuleDescription:
    """A module for people; without a vendor it needs no account. `tools` are by name, and its resources and prompts."""

    name: str
    title: LocalizedText
    description: LocalizedText
    has_vendor: bool
    tools: Mapping[str, ToolDescription]


@dataclass(frozen=True, slots=True)
class ToolSchemas:
    """JSON Schemas of what a tool takes and of what it returns: the latter is empty where it shows content blocks."""

    parameters: Mapping[str, Any]
    returns: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelView:
    """All that a model is shown under one policy: `instructions` and the `definitions` of tools that a client loads at
    its start, and by module what get_module_schema answers for it. `plain_definitions`, which are built as they are
    read, are those of its plain tools; of all, where the roles show none and only a client can ask for them. `offered`
    are the resources and prompts that a client shows to its person."""

    exposure: ToolExposure
    instructions: str
    definitions: Sequence[Mapping[str, Any]]
    plain_definitions: Iterator[Mapping[str, Any]]
    schemas: Mapping[str, Sequence[Mapping[str, Any]]]
    offered: Sequence[ToolDescription] = ()


class ToolCatalogue(Protocol):
    """The installed modules, and what of them exists under a policy."""

    def list_modules(self) -> Mapping[str, ModuleDescription]:
        """Return all modules by name."""
        ...

    def find_schemas(self, module: str, tool: str) -> ToolSchemas:
        """Return the schemas of an installed tool."""
        ...

    def find_plain_view_problem(self, module: str, tool: str) -> str:
        """Return why an installed tool is left out of the plain view; empty where it is not, or is no tool."""
        ...

    def list_permitted_tools(self, policy: Policy) -> Mapping[str, Sequence[str]]:
        """Return the names of the tools, resources and prompts that exist under a policy, by module, as the tool sieve
        decides."""
        ...

    def is_offered(self, kind: CapabilityKind, name: str) -> bool:
        """Check whether an installed module has a resource with this URI, or a prompt with this name."""
        ...

    def build_model_view(self, policy: Policy) -> ModelView:
        """Return what a model is shown under a policy."""
        ...


def is_tool_installed(catalogue: ToolCatalogue, module: str, tool: str) -> bool:
    """Check whether what the audit log names is installed: a tool of a module, any tool where its name is empty, and a
    resource by its URI or a prompt by its name, where the kind stands in the place of the module."""
    if module in _OFFERED_KINDS:
        return catalogue.is_offered(CapabilityKind(module), tool)
    found = catalogue.list_modules().get(module)
    return found is not None and tool in ("", *found.tools)


def find_titles(catalogue: ToolCatalogue, module: str, tool: str) -> tuple[LocalizedText, LocalizedText]:
    """Find the display names of a module and a tool; their own names where they are not installed any more. A batch has
    no module."""
    if not module:
        return LocalizedText("", ""), BATCH_TITLE
    found = catalogue.list_modules().get(module)
    found_tool = None if found is None else found.tools.get(tool)
    return (
        LocalizedText(module, module) if found is None else found.title,
        LocalizedText(tool, tool) if found_tool is None else found_tool.title,
    )
