"""How tools are exposed to a client: by three meta-tools, as plain tools, or both.

A URL says it (``/mcp?view=plain&modules=github,notion``, or ``/mcp/plain/github,notion`` for clients that drop
queries), else the credential.
"""

from enum import StrEnum
from functools import lru_cache
from urllib.parse import parse_qs, unquote

import msgspec

from core.errors import Invalid
from core.names import MODULE_NAME_PATTERN

MAX_TEXT_LENGTH = 2_000
MAX_NAMES = 100


class View(StrEnum):
    """What `tools/list` lists."""

    META = "meta"
    PLAIN = "plain"
    BOTH = "both"


class ToolExposure(msgspec.Struct, frozen=True):
    """An exposure. `modules` are those whose tools are plain ones, and `tools` (``module.tool``) single ones; with
    neither, all permitted tools are."""

    view: View = View.META
    modules: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()

    @property
    def has_meta_tools(self) -> bool:
        """Check whether the three meta-tools are listed."""
        return self.view is not View.PLAIN

    @property
    def has_plain_tools(self) -> bool:
        """Check whether plain tools are listed."""
        return self.view is not View.META


META_VIEW = ToolExposure()
_VIEWS = frozenset(view.value for view in View)


@lru_cache(maxsize=1_024)
def parse_exposure(query: str) -> ToolExposure | None:
    """Parse the query of a URL, or what a credential's setting says in the same form; None where it says nothing of
    tools. With `modules` or `tools` alone the view is plain.

    Raises:
        core.errors.Invalid: it cannot be understood.
    """
    if len(query) > MAX_TEXT_LENGTH:
        raise Invalid(f"the query has more than {MAX_TEXT_LENGTH} characters")
    try:
        fields = parse_qs(query, keep_blank_values=True, max_num_fields=20, errors="strict")
    except ValueError:
        raise Invalid("the query cannot be read: write ?view=plain&modules=github,notion") from None
    given = {name: values[-1] for name, values in fields.items() if name in ("view", "modules", "tools")}
    if not given:
        return None
    modules, tools = _split(given.get("modules", "")), _split(given.get("tools", ""))
    return _build(given.get("view", View.PLAIN.value), modules, tools)


@lru_cache(maxsize=1_024)
def parse_exposure_path(path: str) -> ToolExposure | None:
    """Parse what follows ``/mcp/`` in the path of a URL: ``view`` or ``view/modules``; None where it is neither.

    Raises:
        core.errors.Invalid: a name cannot be understood.
    """
    view, _, modules = path.removesuffix("/").partition("/")
    if view not in _VIEWS or len(path) > MAX_TEXT_LENGTH:
        return None
    return _build(view, _split(unquote(modules)), ())


def _build(view: str, modules: tuple[str, ...], tools: tuple[str, ...]) -> ToolExposure:
    if view not in _VIEWS:
        raise Invalid(f"view is one of {', '.join(View)}")
    names = (*modules, *(name for tool in tools for name in _split_tool(tool)))
    if len(modules) + len(tools) > MAX_NAMES or not all(MODULE_NAME_PATTERN.fullmatch(name) for name in names):
        raise Invalid(
            f"modules are names such as github,notion, tools such as github.search_issues, {MAX_NAMES} at most"
        )
    return ToolExposure(View(view), modules, tools)


def _split(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(","))) if text.strip() else ()


def _split_tool(tool: str) -> tuple[str, str]:
    module, _, name = tool.partition(".")
    return module, name
