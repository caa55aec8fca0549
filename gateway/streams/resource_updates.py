"""Changed resources that clients have subscribed to, told to those who may read them."""

from collections.abc import Awaitable, Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from uuid import UUID

from core.caller import Caller
from gateway.auth.tool_scopes import has_scope
from gateway.sieve.sieve import Sieve
from gateway.streams.open_stream import Notification, OpenStream
from gateway.streams.resource_changes import ResourceChange, parse_change
from gateway.streams.resource_subscriptions import MAX_SUBSCRIPTIONS, SubscribedClient, parse_client
from gateway.streams.stream_hub import StreamHub

MAX_CHANGED = 2 * MAX_SUBSCRIPTIONS
"""Changed resources that a stream keeps until it tells of them."""

LoadSubscriptions = Callable[[Caller], Awaitable[frozenset[str]]]


class ResourceUpdates:
    """News of resources: implements :class:`gateway.streams.open_stream.NewsSource`. `load` loads the client's stored
    subscriptions, for a stream whose subscriptions are not its own: they are outdated until they were loaded after
    the last change that was announced, and all that is heard until then is kept."""

    is_over = False

    def __init__(
        self, sieve: Sieve, caller: Caller, uris: frozenset[str] = frozenset(), load: LoadSubscriptions | None = None
    ) -> None:
        self.user_id = caller.user_id
        self.client = SubscribedClient.of_caller(caller)
        self._sieve = sieve
        self._uris = uris
        self._load = load
        self._announced = 0 if load is None else 1
        self._loaded = 0
        self._changed: dict[str, None] = {}
        self._have_all_changed = False

    @property
    def is_outdated(self) -> bool:
        """Check whether the client may have subscribed to something else by now."""
        return self._loaded != self._announced

    def note(self, uris: Collection[str]) -> bool:
        """Note changed resources; return whether one of them may be of these. More than are kept are as if every
        resource had changed: a notification too many is allowed, a lost one is not noticed."""
        changed = uris if self.is_outdated else [uri for uri in uris if uri in self._uris]
        for uri in changed:
            if len(self._changed) < MAX_CHANGED:
                self._changed[uri] = None
            else:
                self._have_all_changed = True
        return bool(changed)

    def note_all(self) -> None:
        """Note that any resource, and any subscription, may have changed."""
        self._have_all_changed = True
        self.note_subscription()

    def note_subscription(self) -> bool:
        """Note that the client has subscribed to something else; return whether that concerns this stream."""
        if self._load is None:
            return False
        self._announced += 1
        return True

    async def take_news(self, caller: Caller) -> Sequence[Notification]:
        """Take the changed resources that the client has subscribed to, and `caller` may read."""
        await self.load_outdated(caller)
        changed = self._uris if self._have_all_changed else self._changed
        self._changed, self._have_all_changed = {}, False
        return [
            Notification("notifications/resources/updated", {"uri": uri})
            for uri in changed
            if uri in self._uris and self._may_read(caller, uri)
        ]

    async def load_outdated(self, caller: Caller) -> None:
        """Load the stored subscriptions, until nothing newer is announced meanwhile.

        Raises:
            core.errors.Unavailable: the database is away; they stay outdated.
        """
        while self._load is not None and self.is_outdated:
            announced = self._announced
            self._uris = await self._load(caller)
            self._loaded = announced

    def _may_read(self, caller: Caller, uri: str) -> bool:
        found = self._sieve.get_view(caller).find_resource(uri)
        return found is not None and has_scope(caller, found[0].tool)


class ResourceWatch:
    """Hears what has changed, and wakes the streams of those who have subscribed to it."""

    def __init__(self, hub: StreamHub) -> None:
        self._hub = hub
        self._of_tenant: dict[UUID, dict[ResourceUpdates, OpenStream]] = {}

    @contextmanager
    def watch(self, source: ResourceUpdates, stream: OpenStream) -> Generator[None]:
        """Have a stream hear of resources for as long as the block lasts."""
        tenant_id = stream.caller.tenant_id
        self._of_tenant.setdefault(tenant_id, {})[source] = stream
        try:
            yield
        finally:
            sources = self._of_tenant[tenant_id]
            del sources[source]
            if not sources:
                del self._of_tenant[tenant_id]

    def hear_change(self, text: str) -> None:
        """Take in that resources have changed."""
        change = parse_change(text)
        if change is not None:
            for source, stream in self._of_tenant.get(change.tenant_id, {}).items():
                if _concerns(change, source) and source.note(change.uris):
                    self._hub.wake(stream)

    def hear_subscription(self, text: str) -> None:
        """Take in that a client has subscribed to something else: its streams are told of other resources from now
        on."""
        client = parse_client(text)
        if client is not None:
            for source, stream in self._of_tenant.get(client.tenant_id, {}).items():
                if source.client == client and source.note_subscription():
                    self._hub.wake(stream)

    def hear_again(self) -> None:
        """Take in that announcements were lost: anything may have changed."""
        for sources in self._of_tenant.values():
            for source, stream in sources.items():
                source.note_all()
                self._hub.wake(stream)


def _concerns(change: ResourceChange, source: ResourceUpdates) -> bool:
    return change.user_id is None or change.user_id == source.user_id
