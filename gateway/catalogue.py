"""Catalogue of all modules: found and checked at start, immutable afterwards. Visibility is the sieve's business."""

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import modules
from core.module_manifest import CapabilityKind
from core.module_packages import ModulePackage, list_module_packages
from core.names import MODULE_NAME_PATTERN
from gateway.capability_tools import build_completing_tool, build_reading_tool
from gateway.module_packages import import_package_module
from gateway.settings_form import CatalogueError, check_settings_form
from gateway.uri_templates import InvalidUriTemplate, UriTemplate, parse_uri_template
from modules.kit import ContentResult, Execution, Module, Prompt, Resource, Tool, build_json_schema

MAX_LINE_LENGTH = 120
_TEXT_TYPES = frozenset({"string", "null"})
RESERVED_NAMES = frozenset({*CapabilityKind, "data", "file", "ftp", "git", "http", "https", "ui", "ws", "wss"})
"""A module's URIs may begin with its name as their scheme, and the audit log names a resource that does not exist under
its kind."""
READ_METHODS = {CapabilityKind.RESOURCE: "resources/read", CapabilityKind.PROMPT: "prompts/get"}
COMPLETE_METHOD = "completion/complete"


@dataclass(frozen=True, slots=True, eq=False)
class CatalogueTool:
    """A tool with what is made of its declaration once. Its schemas are built at their first use: those of all tools
    would be a fifth of a start."""

    owner: Module
    tool: Tool
    module: str = field(init=False)
    """The name of the module that declares it."""
    name: str = field(init=False)
    """The tool's own name."""
    full_name: str = field(init=False)
    """The names of module and tool, as logs and traces show them."""
    read_only: bool = field(init=False)
    """Whether the tool only reads, by its hints."""
    is_async: bool = field(init=False)
    """Whether the tool is run as a job."""
    kind: CapabilityKind = CapabilityKind.TOOL
    operation: str = ""
    """The MCP method that a reader of a resource or prompt serves, as the audit log names it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "module", self.owner.name)
        object.__setattr__(self, "name", self.tool.name)
        object.__setattr__(self, "read_only", self.tool.hints.read_only)
        object.__setattr__(self, "is_async", self.tool.execution is Execution.ASYNC)
        object.__setattr__(self, "full_name", f"{self.owner.name}.{self.tool.name}")

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """JSON Schema of the arguments."""
        return build_json_schema(self.tool.arguments)

    @property
    def output_schema(self) -> Mapping[str, Any] | None:
        """JSON Schema of the result; None where the tool shows content blocks."""
        if issubclass(self.tool.result, ContentResult):
            return None
        return build_json_schema(self.tool.result, output=True)

    @property
    def output_exact(self) -> bool:
        """A result holds no property but its schema's: it is rendered from the model that the schema was made of."""
        return True


@dataclass(frozen=True, slots=True, eq=False)
class CatalogueResource:
    """A resource with the templates of its URIs. `tool` is what reads it, as a tool is run: by its variables;
    `completer` what completes them."""

    resource: Resource
    tool: CatalogueTool
    completer: CatalogueTool
    templates: tuple[UriTemplate, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CataloguePrompt:
    """A prompt. `tool` is what fills it in, as a tool is run: by its arguments; `completer` what completes them."""

    prompt: Prompt
    tool: CatalogueTool
    completer: CatalogueTool


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Modules in name order, and what they offer in the order of its declaration."""

    modules: tuple[Module, ...]
    tools: Mapping[str, tuple[CatalogueTool, ...]]
    resources: Mapping[str, tuple[CatalogueResource, ...]] = field(
        default_factory=dict[str, tuple[CatalogueResource, ...]]
    )
    prompts: Mapping[str, tuple[CataloguePrompt, ...]] = field(default_factory=dict[str, tuple[CataloguePrompt, ...]])

    def list_capabilities(self, module: str) -> tuple[CatalogueTool, ...]:
        """List what a module offers: its tools, then what reads its resources and fills in its prompts."""
        return (
            *self.tools.get(module, ()),
            *(resource.tool for resource in self.resources.get(module, ())),
            *(prompt.tool for prompt in self.prompts.get(module, ())),
        )


EMPTY_CATALOGUE = Catalogue((), {})


def load_installed_modules() -> Catalogue:
    """Load the catalogue of the packages in ``modules/``, each of which exports ``MODULE``, and of other packages.

    Raises:
        core.errors.Invalid: another package cannot be used; the text names it.
    """
    own = import_own_modules()
    return build_catalogue([*own.values(), *map(_load_package_module, list_module_packages(own))])


def import_own_modules() -> Mapping[str, Module]:
    """Import the packages in ``modules/``: a quarter of a second of a start."""
    names = [
        package.name for package in pkgutil.iter_modules(modules.__path__) if package.ispkg and package.name != "kit"
    ]
    return {name: importlib.import_module(f"modules.{name}").MODULE for name in names}


def _load_package_module(package: ModulePackage) -> Module:
    module = import_package_module(package)
    try:
        check_schemas(build_catalogue([module]))
    except CatalogueError as error:
        raise package.build_error(str(error)) from None
    return module


def build_catalogue(modules: Iterable[Module]) -> Catalogue:
    """Check modules, except for their tools' schemas (:func:`check_schemas`).

    Raises:
        CatalogueError: a name, description or scope breaks a rule; the text names the tool.
    """
    modules = tuple(sorted(modules, key=lambda module: module.name))
    if len({module.name for module in modules}) != len(modules):
        raise CatalogueError(f"two modules share a name: {', '.join(module.name for module in modules)}")
    for module in modules:
        _check_module(module)
    _check_prompt_names(modules)
    return Catalogue(
        modules,
        {module.name: tuple(_build_tool(module, tool) for tool in module.tools) for module in modules},
        {module.name: tuple(_build_resource(module, one) for one in module.resources) for module in modules},
        {module.name: tuple(_build_prompt(module, one) for one in module.prompts) for module in modules},
    )


def check_schemas(catalogue: Catalogue) -> None:
    """Build and check the schemas of all tools, resources and prompts. Those of the product's own modules are checked
    by its tests.

    Raises:
        CatalogueError: a schema breaks a rule; the text names the tool.
    """
    for module in catalogue.modules:
        for tool in catalogue.list_capabilities(module.name):
            _check_schema(tool)


def _check_schema(tool: CatalogueTool) -> None:
    # Some model providers refuse a whole list of tools for one of these at the top.
    if {"anyOf", "oneOf", "allOf"} & tool.input_schema.keys():
        raise CatalogueError(f"{tool.full_name}: a schema must not have anyOf, oneOf or allOf at its top level")
    if tool.kind is CapabilityKind.TOOL:
        return
    known = _TEXT_TYPES | {"integer"} if tool.kind is CapabilityKind.RESOURCE else _TEXT_TYPES
    for name, part in tool.input_schema.get("properties", {}).items():
        if not all(one.get("type") in known for one in _list_members(tool.input_schema, part)):
            what = "a text or a whole number" if tool.kind is CapabilityKind.RESOURCE else "a text"
            raise CatalogueError(f"{tool.full_name}: {name} must be {what}: clients send nothing else")


def _list_members(schema: Mapping[str, Any], part: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    for one in part.get("anyOf", (part,)):
        yield schema.get("$defs", {}).get(one["$ref"].rsplit("/", 1)[-1], {}) if "$ref" in one else one


def _check_module(module: Module) -> None:
    if module.name in RESERVED_NAMES:
        raise CatalogueError(f"{module.name} is no name for a module: its URIs could be taken for others")
    if not MODULE_NAME_PATTERN.fullmatch(module.name):
        raise CatalogueError(f"module name {module.name!r} does not match {MODULE_NAME_PATTERN.pattern}")
    if not module.description or len(module.description) > MAX_LINE_LENGTH or "\n" in module.description:
        raise CatalogueError(f"{module.name}: the description must be one line of at most {MAX_LINE_LENGTH} characters")
    names = [name for tool in module.tools for name in (tool.name, *tool.aliases)]
    names += [one.name for one in (*module.resources, *module.prompts)]
    if len(names) != len(set(names)):
        raise CatalogueError(f"{module.name}: two tools, resources or prompts share a name or an alias")
    for key, sample in module.samples.items():
        _check_sample(module, key, sample.tool)
    if module.settings_form is not None:
        check_settings_form(module.name, module.settings_form)


def _check_sample(module: Module, key: str, source: str) -> None:
    owner, _, parameter = key.rpartition(".")
    if not any(parameter in tool.arguments.model_fields for tool in module.tools if owner in ("", tool.name)):
        raise CatalogueError(f"{module.name}: there is no parameter {key!r} for a sample")
    if source and not any(tool.name == source and tool.hints.read_only for tool in module.tools):
        raise CatalogueError(f"{module.name}: the sample of {key} is to come from {source!r}, which is no reading tool")


def _build_tool(module: Module, tool: Tool) -> CatalogueTool:
    owner = f"{module.name}.{tool.name}"
    if not all(MODULE_NAME_PATTERN.fullmatch(name) for name in (tool.name, *tool.aliases)):
        raise CatalogueError(f"{owner}: tool names must match {MODULE_NAME_PATTERN.pattern}")
    if not tool.scopes or not tool.scopes <= module.scopes:
        raise CatalogueError(f"{owner}: tool scopes must be among {sorted(module.scopes)}")
    if tool.hints.read_only and tool.hints.destructive:
        raise CatalogueError(f"{owner}: a read-only tool cannot be destructive")
    return CatalogueTool(module, tool)


def _build_resource(module: Module, resource: Resource) -> CatalogueResource:
    tool, completer = _build_readers(module, resource, CapabilityKind.RESOURCE)
    prefixes = (f"resource://{module.name}/", f"{module.name.replace('_', '-')}://")
    try:
        templates = tuple(parse_uri_template(uri) for uri in resource.uris)
    except InvalidUriTemplate as error:
        raise CatalogueError(f"{tool.full_name}: {error}") from None
    for uri in resource.uris:  # so that no module can stand in for another
        if not uri.startswith(prefixes):
            raise CatalogueError(f"{tool.full_name}: {uri} must begin with {' or '.join(prefixes)}")
    return CatalogueResource(resource, tool, completer, templates)


def _build_prompt(module: Module, prompt: Prompt) -> CataloguePrompt:
    return CataloguePrompt(prompt, *_build_readers(module, prompt, CapabilityKind.PROMPT))


def _build_readers(
    module: Module, declared: Resource | Prompt, kind: CapabilityKind
) -> tuple[CatalogueTool, CatalogueTool]:
    owner = f"{module.name}.{declared.name}"
    if not MODULE_NAME_PATTERN.fullmatch(declared.name):
        raise CatalogueError(f"{owner}: names of {kind}s must match {MODULE_NAME_PATTERN.pattern}")
    if not declared.scopes <= module.scopes:
        raise CatalogueError(f"{owner}: scopes must be among {sorted(module.scopes)}")
    reader = CatalogueTool(module, build_reading_tool(declared), kind, READ_METHODS[kind])
    return reader, CatalogueTool(module, build_completing_tool(declared), kind, COMPLETE_METHOD)


def _check_prompt_names(modules: Iterable[Module]) -> None:
    """Check that clients can tell prompts by their names: they know no modules."""
    owners: dict[str, str] = {}
    for module in modules:
        for prompt in module.prompts:
            other = owners.setdefault(prompt.name, module.name)
            if other != module.name:
                raise CatalogueError(f"{other} and {module.name} both have a prompt {prompt.name}")
