"""Lists that have changed for a caller: of plain tools, of resources, of prompts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from core.caller import Caller
from core.tool_exposure import ToolExposure
from gateway.plain_view.names import META_TOOLS
from gateway.plain_view.plain_tools import PlainTools
from gateway.sieve.sieve import Sieve, SieveView
from gateway.streams.open_stream import ClientNotification

TOOLS, RESOURCES, PROMPTS = "tools", "resources", "prompts"

_METHODS: Mapping[str, str] = MappingProxyType(
    {kind: f"notifications/{kind}/list_changed" for kind in (TOOLS, RESOURCES, PROMPTS)}
)

ListNames = Callable[[SieveView, ToolExposure], Iterable[str]]
ChooseExposure = Callable[[Caller], ToolExposure]


class ListChanges:
    """News of lists: implements :class:`gateway.streams.open_stream.NewsSource`. What is remembered of a list is the
    hash of its names: all else of an entry is the same for everybody, and as old as the process."""

    is_over = False

    def __init__(
        self, sieve: Sieve, lists: Mapping[str, ListNames], choose_exposure: ChooseExposure, caller: Caller
    ) -> None:
        self._sieve = sieve
        self._lists = lists
        self._choose_exposure = choose_exposure
        self._view, self._exposure = sieve.get_view(caller), choose_exposure(caller)
        self._hashes = _hash_lists(lists, self._view, self._exposure)

    def is_ready(self, caller: Caller) -> bool:
        """See :class:`NewsSource`."""
        return True

    async def look_up(self, caller: Caller) -> None:
        """See :class:`NewsSource`."""

    def take_news(self, caller: Caller) -> Sequence[ClientNotification]:
        """Take the lists that are others than when this was asked last."""
        view, exposure = self._sieve.get_view(caller), self._choose_exposure(caller)
        if view is self._view and exposure == self._exposure:
            return ()
        before, self._view, self._exposure = self._hashes, view, exposure
        self._hashes = _hash_lists(self._lists, view, exposure)
        changed = [kind for kind, old, new in zip(self._lists, before, self._hashes, strict=True) if old != new]
        return [ClientNotification(_METHODS[kind], {}) for kind in changed]


class ListWatch:
    """Makes the sources of news of lists."""

    def __init__(self, sieve: Sieve, plain_tools: PlainTools) -> None:
        self._sieve = sieve
        self._plain_tools = plain_tools

    def create_source(self, caller: Caller, choose_exposure: ChooseExposure, kinds: Iterable[str]) -> ListChanges:
        """Create the source of news of these `kinds` of lists. That of tools changes with the exposure, too; the three
        meta-tools alone never do."""
        lists: dict[str, ListNames] = {TOOLS: self._name_tools, RESOURCES: _name_resources, PROMPTS: _name_prompts}
        return ListChanges(self._sieve, {kind: lists[kind] for kind in kinds}, choose_exposure, caller)

    def _name_tools(self, view: SieveView, exposure: ToolExposure) -> Iterable[str]:
        plain = self._plain_tools.get_list(view, exposure).tools if exposure.has_plain_tools else ()
        return (*META_TOOLS, *plain) if exposure.has_meta_tools else plain


def _name_resources(view: SieveView, _exposure: ToolExposure) -> Iterable[str]:
    return (one.tool.full_name for one in view.resources)


def _name_prompts(view: SieveView, _exposure: ToolExposure) -> Iterable[str]:
    return view.prompts


def _hash_lists(lists: Mapping[str, ListNames], view: SieveView, exposure: ToolExposure) -> tuple[int, ...]:
    return tuple(hash(tuple(names(view, exposure))) for names in lists.values())
