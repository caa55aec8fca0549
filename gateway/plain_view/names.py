"""Names of tools in the plain view: unique in a catalogue, at most 64 of ``A-Za-z0-9_-``, which every model provider
takes."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence

from gateway.catalogue import CatalogueTool
from gateway.settings_form import CatalogueError

MAX_NAME_LENGTH = 64
META_TOOLS = ("get_module_schema", "call", "batch")
_DIGEST_LENGTH = 8
_REFUSED = re.compile(r"\A(?=[0-9-])|[^A-Za-z0-9_-]")


def assign_plain_names(modules: Iterable[Sequence[CatalogueTool]]) -> Mapping[str, CatalogueTool]:
    """Assign every tool of `modules` its name, and return the tools by name. A name follows from the tool's own module:
    neither who asks nor what else is installed changes it.

    Raises:
        gateway.settings_form.CatalogueError: tools of two modules have the same name.
    """
    named: dict[str, CatalogueTool] = {}
    for tools in modules:
        for name, tool in _name_tools(tools):
            other = named.setdefault(name, tool)
            if other is not tool:
                both = f"{other.full_name} and {tool.full_name}"
                raise CatalogueError(f"{both} are both {name} as plain tools; uninstall one of the modules")
    return named


def _name_tools(tools: Sequence[CatalogueTool]) -> Iterable[tuple[str, CatalogueTool]]:
    """Name the tools of a module: each by its first alias, which is its name in documents of other products, or by its
    own name where the module's document has it, else by the names of module and tool. What is another's name, too long,
    or of other characters ends with a digest."""
    full_names = {f"{tool.module}_{tool.name}" for tool in tools}
    for tool in tools:
        full_name = f"{tool.module}_{tool.name}"
        own = (tool.name,) if tool.owner.has_plain_names else tool.tool.aliases[:1]
        wanted = (*(name for name in own if name == full_name or name not in full_names), full_name)
        name = next((name for name in wanted if _is_accepted(name)), None)
        yield name or _add_digest(_REFUSED.sub("_", full_name), tool.full_name), tool


def _is_accepted(name: str) -> bool:
    return len(name) <= MAX_NAME_LENGTH and name not in META_TOOLS and _REFUSED.search(name) is None


def _add_digest(name: str, identity: str) -> str:
    digest = hashlib.sha256(identity.encode()).hexdigest()[:_DIGEST_LENGTH]
    return f"{name[: MAX_NAME_LENGTH - _DIGEST_LENGTH - 1]}_{digest}"
