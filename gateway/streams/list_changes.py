"""Lists that have changed for a caller: of plain tools, of resources, of prompts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from core.caller import Caller
from gateway.mcp.exposure import ToolExposure
from gateway.plain_view.plain_tools import PlainTools
from gateway.sieve.sieve import Sieve, SieveView
from gateway.streams.open_stream import Notification

TOOLS, RESOURCES, PROMPTS = "tools", "resources", "prompts"

_METHODS: Mapping[str, str] = MappingProxyType(
    {kind: f"notifications/{kind}/list_changed" for kind in (TOOLS, RESOURCES, PROMPTS)}
)

ListNames = Callable[[SieveView], Iterable[str]]


class ListChanges:
    """News of lists: implements :class:`gateway.streams.open_stream.NewsSource`. What is remembered of a list is the
    hash of its names: all else of an entry is the same for everybody, and as old as the process."""

    is_over = False

    def __init__(self, sieve: Sieve, lists: Mapping[str, ListNames], caller: Caller) -> None:
        self._sieve = sieve
        self._lists = lists
        self._view = sieve.get_view(caller)
        self._hashes = _hash_lists(lists, self._view)

    def is_ready(self, caller: Caller) -> bool:
        """See :class:`NewsSource`."""
        return True

    async def look_up(self, caller: Caller) -> None:
        """See :class:`NewsSource`."""

    def take_news(self, caller: Caller) -> Sequence[Notification]:
        """Take the lists that are others than when this was asked last."""
        view = self._sieve.get_view(caller)
        if view is self._view:
            return ()
        before, self._view = self._hashes, view
        self._hashes = _hash_lists(self._lists, view)
        changed = [kind for kind, old, new in zip(self._lists, before, self._hashes, strict=True) if old != new]
        return [Notification(_METHODS[kind], {}) for kind in changed]


class ListWatch:
    """Makes the sources of news of lists."""

    def __init__(self, sieve: Sieve, plain_tools: PlainTools) -> None:
        self._sieve = sieve
        self._plain_tools = plain_tools

    def create_source(self, caller: Caller, exposure: ToolExposure, kinds: Iterable[str]) -> ListChanges:
        """Create the source of those `kinds` of lists that can change for a client with this exposure of tools."""
        lists: dict[str, ListNames] = {RESOURCES: _name_resources, PROMPTS: _name_prompts}
        if exposure.has_plain_tools:
            lists[TOOLS] = lambda view: self._plain_tools.get_list(view, exposure).tools
        return ListChanges(self._sieve, {kind: lists[kind] for kind in kinds if kind in lists}, caller)


def _name_resources(view: SieveView) -> Iterable[str]:
    return (one.tool.full_name for one in view.resources)


def _name_prompts(view: SieveView) -> Iterable[str]:
    return view.prompts


def _hash_lists(lists: Mapping[str, ListNames], view: SieveView) -> tuple[int, ...]:
    return tuple(hash(tuple(names(view))) for names in lists.values())
