"""Changed resources, announced by whatever has changed them to all gateways, and heard there.

An announcement is a hint, as any login of the database can send one: it makes nobody be told of a resource that they
may not read, or have not subscribed to.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from uuid import UUID

import msgspec

from core.caller import Caller
from core.errors import Unavailable
from gateway.uri_templates import MAX_URI_LENGTH
from modules.kit import Module

RESOURCE_CHANNEL = "mcpist_resource"
MAX_ANNOUNCED = 100
"""Changed resources of one run."""
MAX_WAITING = 10_000
"""Changed resources of a process that wait to be announced; further ones are left out."""
MAX_TEXT_BYTES = 7_500
"""Of one announcement: the database takes 7,999."""
RETRY_SECONDS = 1.0
MAX_RETRIES = 5

AnnounceChanges = Callable[[Caller, Mapping[str, bool]], None]
"""(who has changed them, changed resources by URI and whether others than their own clients are to be told)."""

log = logging.getLogger(__name__)


class ResourceChange(msgspec.Struct, frozen=True, array_like=True):
    """Changed resources of one tenant; of one person alone where `user_id` is there."""

    tenant_id: UUID
    user_id: UUID | None
    uris: tuple[str, ...]


def ignore_changes(_caller: Caller, _changes: Mapping[str, bool]) -> None:
    """Announce nothing: nobody listens to this process."""


def is_announceable(module: Module, uri: str) -> bool:
    """Check whether a module may announce that the resource with this URI has changed."""
    prefixes = (f"resource://{module.name}/", f"{module.name.replace('_', '-')}://")
    return len(uri) <= MAX_URI_LENGTH and uri.isascii() and uri.isprintable() and uri.startswith(prefixes)


def parse_change(text: str) -> ResourceChange | None:
    """Parse an announcement; None where it is none of ours."""
    try:
        return msgspec.json.decode(text, type=ResourceChange)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None


class ResourceAnnouncer:
    """Announces changed resources to all gateways, without keeping whoever has changed them waiting. `announce` raises
    core.errors.Unavailable."""

    def __init__(self, announce: Callable[[str, str], Awaitable[None]]) -> None:
        self._announce = announce
        self._waiting: dict[tuple[UUID, UUID | None, str], None] = {}
        self._task: asyncio.Task[None] | None = None

    def announce(self, caller: Caller, changes: Mapping[str, bool]) -> None:
        """Announce what `caller` has changed; see :data:`AnnounceChanges`."""
        for uri, is_shared in changes.items():
            if len(self._waiting) < MAX_WAITING:
                self._waiting[caller.tenant_id, None if is_shared else caller.user_id, uri] = None
        if self._task is None:
            self._task = asyncio.create_task(self._announce_waiting(), name="announcing changed resources")

    async def _announce_waiting(self) -> None:
        try:
            while self._waiting:
                waiting, self._waiting = self._waiting, {}
                for change in _group(waiting):
                    await self._announce_one(change)
        finally:
            self._task = None

    async def _announce_one(self, change: ResourceChange) -> None:
        text = msgspec.json.encode(change).decode()
        for attempt in range(MAX_RETRIES):
            try:
                await self._announce(RESOURCE_CHANNEL, text)
                return
            except Unavailable:
                if attempt < MAX_RETRIES - 1:
                    await asyncio.sleep(RETRY_SECONDS)
        log.warning("changed resources were not announced", extra={"event": "resource_change_not_announced"})


def _group(waiting: Mapping[tuple[UUID, UUID | None, str], None]) -> Iterator[ResourceChange]:
    """Group changes into announcements, each of one tenant or person and no longer than one may be."""
    groups: dict[tuple[UUID, UUID | None], list[str]] = {}
    for tenant_id, user_id, uri in waiting:
        group = groups.setdefault((tenant_id, user_id), [])
        if sum(map(len, group)) + len(uri) > MAX_TEXT_BYTES - 200 - 20 * len(group):
            yield ResourceChange(tenant_id, user_id, tuple(group))
            group.clear()
        group.append(uri)
    for (tenant_id, user_id), group in groups.items():
        yield ResourceChange(tenant_id, user_id, tuple(group))
