"""How tools are exposed to a client: by three meta-tools, as plain tools, or both.

The URL of a request says it (``/mcp?view=plain&modules=github,notion``, or ``/mcp/plain/github,notion`` for clients
that drop queries), else the setting of its credential, else those of its user's roles: a text such as
``plain:github,notion``.
"""

from collections.abc import Iterable
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

    @property
    def text(self) -> str:
        """The form of a setting."""
        names = ",".join((*self.modules, *self.tools))
        return f"{self.view}:{names}" if names else self.view.value


META_VIEW = ToolExposure()
_VIEWS = frozenset(view.value for view in View)
_FORM = (
    "plain, both or meta, and after a colon modules and tools, such as plain:github,notion or both:jira.search_issues"
)


@lru_cache(maxsize=1_024)
def parse_exposure(query: str) -> ToolExposure | None:
    """Parse the query of a URL; None where it says nothing of tools. With `modules` or `tools` alone the view is plain.

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


@lru_cache(maxsize=1_024)
def parse_exposure_setting(text: str) -> ToolExposure:
    """Parse the setting of a credential or a role: a view alone, or with the names of modules and of single tools.

    Raises:
        core.errors.Invalid: it cannot be understood; the text says what can be.
    """
    view, colon, listed = text.partition(":")
    names = _split(listed)
    if len(text) > MAX_TEXT_LENGTH or view not in _VIEWS or (colon and (view == View.META or not names)):
        raise Invalid(f"an exposure of tools is {_FORM}")
    modules = tuple(name for name in names if "." not in name)
    return _build(view, modules, tuple(name for name in names if "." in name))


def normalize_exposure_setting(text: str | None) -> str | None:
    """Return a setting as it is stored; None where there is none.

    Raises:
        core.errors.Invalid: it cannot be understood; the text says what can be.
    """
    return None if text is None else parse_exposure_setting(text).text


def load_exposure_setting(text: str) -> ToolExposure | None:
    """Parse a stored setting; None where there is none, or one that this version does not know."""
    try:
        return parse_exposure_setting(text) if text else None
    except Invalid:
        return None


def unite_exposures(exposures: Iterable[ToolExposure]) -> ToolExposure:
    """Unite what several roles show: plain tools of one are plain, and the three are there where one has them."""
    united = tuple(dict.fromkeys(exposures))
    plain = [one for one in united if one.has_plain_tools]
    if len(united) < 2 or not plain:
        return plain[0] if plain else META_VIEW
    view = View.BOTH if any(one.has_meta_tools for one in united) else View.PLAIN
    if not all(one.modules or one.tools for one in plain):
        return ToolExposure(view)
    modules = {name for one in plain for name in one.modules}
    return ToolExposure(view, tuple(sorted(modules)), tuple(sorted({name for one in plain for name in one.tools})))


def choose_exposure_of_roles(settings: Iterable[str]) -> ToolExposure:
    """Choose how tools are shown by the settings of roles; a role without one, as an empty text, shows the three."""
    return unite_exposures(load_exposure_setting(text) or META_VIEW for text in settings)


def _build(view: str, modules: tuple[str, ...], tools: tuple[str, ...]) -> ToolExposure:
    if view not in _VIEWS:
        raise Invalid(f"view is one of {', '.join(View)}")
    names = (*modules, *(name for tool in tools for name in _split_tool(tool)))
    if len(modules) + len(tools) > MAX_NAMES or not all(MODULE_NAME_PATTERN.fullmatch(name) for name in names):
        raise Invalid(
            f"modules are names such as github,notion, tools such as github.search_issues, {MAX_NAMES} at most"
        )
    return META_VIEW if view == View.META else ToolExposure(View(view), modules, tools)


def _split(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(","))) if text.strip() else ()


def _split_tool(tool: str) -> tuple[str, str]:
    module, _, name = tool.partition(".")
    return module, name
