"""Changed resources that clients have subscribed to, told to those who may read them."""

from collections.abc import Awaitable, Callable, Collection, Generator, Hashable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar
from uuid import UUID

from core.caller import Caller
from gateway.auth.tool_scopes import has_scope
from gateway.sieve.sieve import Sieve
from gateway.streams.open_stream import ClientNotification, OpenStream
from gateway.streams.resource_changes import parse_change
from gateway.streams.resource_subscriptions import MAX_SUBSCRIPTIONS, SubscribedClient, parse_client
from gateway.streams.stream_hub import StreamHub

MAX_CHANGED = 2 * MAX_SUBSCRIPTIONS
"""Changed resources that a stream keeps until it tells of them."""

LoadSubscriptions = Callable[[Caller], Awaitable[Collection[str]]]
GetName = Callable[[str], str]
"""(URI) -> one name for all URIs of a resource."""
Key = TypeVar("Key", bound=Hashable)


class ResourceUpdates:
    """News of resources: implements :class:`gateway.streams.open_stream.NewsSource`. `load` loads the client's stored
    subscriptions, for a stream whose subscriptions are not its own: they are outdated until they were loaded after
    the last change that was announced, and all that is heard until then is kept.

    Resources are compared by their names; the client is told of the URI that it has subscribed to.
    """

    is_over = False

    def __init__(
        self,
        sieve: Sieve,
        caller: Caller,
        uris: Collection[str] = (),
        load: LoadSubscriptions | None = None,
        get_name: GetName = str,
    ) -> None:
        self.user_id = caller.user_id
        self.client = SubscribedClient.of_caller(caller)
        self._sieve = sieve
        self._get_name = get_name
        self._load = load
        self._uris: Mapping[str, str] = self._name(uris)
        self._announced = 0 if load is None else 1
        self._loaded = 0
        self._changed: dict[str, None] = {}
        self._have_all_changed = False
        self._listeners: TenantSubscriptions | None = None

    @property
    def names(self) -> Iterable[str]:
        """Names of the resources that the client has subscribed to, as far as is known."""
        return self._uris

    @property
    def uris(self) -> Sequence[str]:
        """Return their URIs as the client has written them, of each resource one."""
        return list(self._uris.values())

    @property
    def is_stored(self) -> bool:
        """Check whether its subscriptions are stored ones."""
        return self._load is not None

    @property
    def is_outdated(self) -> bool:
        """Check whether the client may have subscribed to something else by now."""
        return self._loaded != self._announced

    def note(self, names: Iterable[str]) -> None:
        """Note changed resources, which the client may have subscribed to. More than are kept are as if every resource
        had changed: a notification too many is allowed, a lost one is not noticed."""
        for name in names:
            if len(self._changed) < MAX_CHANGED:
                self._changed[name] = None
            else:
                self._have_all_changed = True

    def note_all(self) -> None:
        """Note that any resource, and any subscription, may have changed."""
        self._have_all_changed = True
        self.note_subscription()

    def note_subscription(self) -> None:
        """Note that the client may have subscribed to something else."""
        if self.is_stored:
            self._announced += 1
            if self._listeners is not None:
                self._listeners.outdated.add(self)

    def is_ready(self, caller: Caller) -> bool:
        """See :class:`gateway.streams.open_stream.NewsSource`."""
        return not self.is_outdated

    async def look_up(self, caller: Caller) -> None:
        """Load the stored subscriptions, until nothing newer is announced meanwhile.

        Raises:
            core.errors.Unavailable: the database is away; they stay outdated.
        """
        while self._load is not None and self.is_outdated:
            announced = self._announced
            uris = self._name(await self._load(caller))
            if self._listeners is not None:
                self._listeners.move(self, self._uris, uris)
            self._uris, self._loaded = uris, announced
        if self._listeners is not None:
            self._listeners.outdated.discard(self)

    def take_news(self, caller: Caller) -> Sequence[ClientNotification]:
        """Take the changed resources that the client has subscribed to, and `caller` may read."""
        if not self._changed and not self._have_all_changed:
            return ()
        changed = self._uris if self._have_all_changed else self._changed
        self._changed, self._have_all_changed = {}, False
        uris = [uri for name in changed if (uri := self._uris.get(name)) is not None]
        return [
            ClientNotification("notifications/resources/updated", {"uri": uri})
            for uri in uris
            if self._may_read(caller, uri)
        ]

    def listen(self, listeners: "TenantSubscriptions | None") -> None:
        """Be among these listeners from now on; None: among none."""
        if self._listeners is not None:
            self._listeners.remove(self)
        self._listeners = listeners
        if listeners is not None:
            listeners.add(self)

    def _name(self, uris: Collection[str]) -> Mapping[str, str]:
        return {self._get_name(uri): uri for uri in uris}

    def _may_read(self, caller: Caller, uri: str) -> bool:
        found = self._sieve.get_view(caller).find_resource(uri)
        return found is not None and has_scope(caller, found[0].tool)


class SourceIndex(Generic[Key]):
    """Sources by a key; many keys have one source only, which takes no set."""

    def __init__(self) -> None:
        self._found: dict[Key, ResourceUpdates | set[ResourceUpdates]] = {}

    def add(self, key: Key, source: ResourceUpdates) -> None:
        known = self._found.get(key)
        if known is None:
            self._found[key] = source
        elif isinstance(known, set):
            known.add(source)
        elif known is not source:
            self._found[key] = {known, source}

    def remove(self, key: Key, source: ResourceUpdates) -> None:
        known = self._found[key]
        if isinstance(known, set):
            known.remove(source)
            if len(known) == 1:
                (self._found[key],) = known
        else:
            del self._found[key]

    def get(self, key: Key) -> Collection[ResourceUpdates]:
        known = self._found.get(key)
        return () if known is None else known if isinstance(known, set) else (known,)


class TenantSubscriptions:
    """The sources of one tenant's streams, by what they have to hear of."""

    def __init__(self) -> None:
        self.streams: dict[ResourceUpdates, OpenStream] = {}
        self.outdated: set[ResourceUpdates] = set()
        """Those that have to hear of every resource."""
        self.by_name = SourceIndex[str]()
        self.by_client = SourceIndex[SubscribedClient]()

    def add(self, source: ResourceUpdates) -> None:
        self.by_client.add(source.client, source)
        if source.is_outdated:
            self.outdated.add(source)
        self.move(source, (), source.names)

    def remove(self, source: ResourceUpdates) -> None:
        self.by_client.remove(source.client, source)
        self.outdated.discard(source)
        self.move(source, source.names, ())

    def move(self, source: ResourceUpdates, before: Iterable[str], after: Iterable[str]) -> None:
        """Have a source hear of other resources than before."""
        for name in before:
            self.by_name.remove(name, source)
        for name in after:
            self.by_name.add(name, source)

    def find(self, names: Sequence[str]) -> Mapping[ResourceUpdates, Sequence[str]]:
        """Find who has to hear of changed resources, and of which of them."""
        found: dict[ResourceUpdates, list[str]] = {}
        for name in names:
            for source in self.by_name.get(name):
                found.setdefault(source, []).append(name)
        return {**found, **dict.fromkeys(self.outdated, names)}


class ResourceWatch:
    """Hears what has changed, and wakes the streams of those who have subscribed to it."""

    def __init__(self, hub: StreamHub, get_name: GetName = str) -> None:
        self._hub = hub
        self._get_name = get_name
        self._of_tenant: dict[UUID, TenantSubscriptions] = {}

    def create_source(
        self, sieve: Sieve, caller: Caller, uris: Collection[str] = (), load: LoadSubscriptions | None = None
    ) -> ResourceUpdates:
        """Create the source of news of these resources, or of those that `load` loads."""
        return ResourceUpdates(sieve, caller, uris, load, self._get_name)

    @contextmanager
    def watch(self, source: ResourceUpdates, stream: OpenStream) -> Generator[None]:
        """Have a stream hear of resources for as long as the block lasts."""
        tenant_id = stream.caller.tenant_id
        tenant = self._of_tenant.setdefault(tenant_id, TenantSubscriptions())
        tenant.streams[source] = stream
        source.listen(tenant)
        try:
            yield
        finally:
            source.listen(None)
            del tenant.streams[source]
            if not tenant.streams:
                del self._of_tenant[tenant_id]

    def hear_change(self, text: str) -> None:
        """Take in that resources have changed."""
        change = parse_change(text)
        tenant = None if change is None else self._of_tenant.get(change.tenant_id)
        if change is None or tenant is None:
            return
        for source, names in tenant.find(list(dict.fromkeys(map(self._get_name, change.uris)))).items():
            if change.user_id is None or change.user_id == source.user_id:
                source.note(names)
                self._hub.wake(tenant.streams[source])

    def hear_subscription(self, text: str) -> None:
        """Take in that a client has subscribed to something else: its streams are told of other resources from now
        on."""
        client = parse_client(text)
        tenant = None if client is None else self._of_tenant.get(client.tenant_id)
        if client is None or tenant is None:
            return
        for source in tenant.by_client.get(client):
            if source.is_stored:
                source.note_subscription()
                self._hub.wake(tenant.streams[source])

    def hear_again(self) -> None:
        """Take in that announcements were lost: anything may have changed."""
        for tenant in self._of_tenant.values():
            for source, stream in tenant.streams.items():
                source.note_all()
                self._hub.wake(stream)
