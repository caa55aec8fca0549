"""Leases in the gateway's memory: requested from the broker once, kept for seconds, dropped with the tenant's
generation and with a version that the vendor has ended."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

import msgspec
from pydantic import ValidationError

from broker.interface import AccountBroker, BrokerUnreachable, CredentialRefusal, Lease, LeaseRequest, NoCredential
from core.caller import Caller
from core.concurrency.lru_cache import LruCache
from core.concurrency.single_flight import SingleFlight
from core.connection_causes import find_cause
from core.connection_state import CredentialKind
from core.generations import Generations
from core.http.credential_headers import CredentialScheme
from core.secret import Secret
from gateway.catalogue import CatalogueTool
from gateway.connection_messages import ConnectMessages
from gateway.mcp.request_context import RequestContext
from gateway.service_settings import build_unfit_settings_error
from gateway.vendor_session.vendor_access import VendorAccess
from gateway.vendor_session.vendor_connection import ConnectionOwner
from modules.kit import ToolError, VendorSettings

MAX_CACHED_LEASES = 10_000
MAX_CACHE_SECONDS = 60.0
RETRIES = 3
FIRST_PAUSE = 0.05

_LeaseKey = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class CachedLease:
    """A lease as the gateway holds it, with the service's settings in the form that the module declares."""

    access_token: Secret
    version: int
    credential: str
    renewable: bool
    settings: VendorSettings
    generation: int | None
    valid_until: float
    origins: tuple[str, ...]
    attributes: Mapping[str, str]
    kind: CredentialKind
    scheme: CredentialScheme
    owner: ConnectionOwner
    """Whose connections and limits its requests use: another key or account in its place has its own."""
    accesses: dict[str, VendorAccess] = field(default_factory=dict[str, VendorAccess], repr=False, compare=False)
    """What its requests share, by further host; "" is the API itself."""

    def is_same(self, other: "CachedLease") -> bool:
        """Check whether both are the same token of the same credential."""
        return (self.credential, self.version) == (other.credential, other.version)


class LeaseCache:
    """Leases of one process, by (caller's credential, module, tool). Nothing of them is ever written anywhere."""

    def __init__(
        self,
        broker: AccountBroker,
        generations: Generations,
        links: ConnectMessages,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._sleep = sleep
        self._chance = chance
        self._links = links
        self._broker = broker
        self._generations = generations
        self._clock = clock
        self._cache = LruCache[_LeaseKey, CachedLease](MAX_CACHED_LEASES)
        self._requests = SingleFlight[tuple[_LeaseKey, int | None], CachedLease]()

    def find_lease(self, request: RequestContext, tool: CatalogueTool) -> CachedLease | None:
        """Find the credential that counts for this caller and tool, without asking the broker."""
        caller = request.authority.caller
        lease = self._cache.get((caller.credential.id, tool.module, tool.name))
        return lease if lease is not None and self._is_valid(caller, lease) else None

    async def get_lease(self, request: RequestContext, tool: CatalogueTool) -> CachedLease:
        """Return the credential that counts for this caller and tool.

        Raises:
            gateway.connection_messages.NotConnected: there is none, or it is broken; the text says what to do.
            ToolError: what the caller may use has just changed, or the service is set up wrongly.
            core.errors.Unavailable: the broker is away.
        """
        lease = self.find_lease(request, tool)
        if lease is not None:
            return lease
        key = _build_key(request, tool)
        joins = (key, None) in self._requests
        lease = await self._fetch_once(key, request, tool, None)
        # Who joined after a change asks for itself.
        return (
            lease if not joins or self._is_valid(request.caller, lease) else await self._fetch(key, request, tool, None)
        )

    async def replace_lease(
        self, request: RequestContext, tool: CatalogueTool, refused: CachedLease, *, report: bool
    ) -> CachedLease:
        """Return a lease in place of one that the vendor has refused with 401. With `report` the refusal is reported to
        the broker, once for all calls that were refused with it.

        Raises:
            Exception: as :meth:`hold`.
        """
        key = _build_key(request, tool)
        lease = self._cache.get(key)
        if lease is not None and not lease.is_same(refused) and self._is_valid(request.caller, lease):
            return lease
        if report:
            return await self._fetch_once(key, request, tool, refused.version)
        return await self._fetch(key, request, tool, None)

    async def _fetch_once(
        self, key: _LeaseKey, request: RequestContext, tool: CatalogueTool, rejected_version: int | None
    ) -> CachedLease:
        """Send one request for all calls that miss the same lease or were refused with it; a cancelled call does not
        end it."""
        return await self._requests.join(
            (key, rejected_version), lambda: self._fetch(key, request, tool, rejected_version)
        )

    async def _fetch(
        self, key: _LeaseKey, request: RequestContext, tool: CatalogueTool, rejected_version: int | None
    ) -> CachedLease:
        self._cache.discard(key)
        # Read before the broker is asked: what changes meanwhile makes the lease old, never new.
        tenant_id, asked_at = request.caller.tenant_id, time.monotonic()
        generation = self._generations.current(tenant_id)
        lease = await self._request_lease(request, tool, rejected_version)
        self._generations.confirm_version(tenant_id, lease.version, asked_at)
        cached = _build_cached_lease(tool, tenant_id, lease, generation, self._clock())
        self._cache.put(key, cached)
        return cached

    def _is_valid(self, caller: Caller, lease: CachedLease) -> bool:
        if lease.generation is None or self._clock() >= lease.valid_until:
            return False
        tenant_id, generations = caller.credential.tenant_id, self._generations
        return lease.generation == generations.current(tenant_id) and not generations.is_dropped(
            tenant_id, lease.version
        )

    async def _request_lease(self, request: RequestContext, tool: CatalogueTool, rejected_version: int | None) -> Lease:
        if request.subject is None:
            raise ToolError("no credential of yours is available here; call the tool from an MCP client")
        lease_request = LeaseRequest(request.subject, tool.module, tool.tool.name, rejected_version)
        response = await self._request_with_retries(lease_request, request.deadline)
        if isinstance(response, CredentialRefusal):
            raise ToolError("your permissions have just changed; call get_module_schema again")
        if isinstance(response, NoCredential):
            if find_cause(response.cause).transient:
                raise self._links.build_transient_error(tool.owner, response.cause, response.kind, response.retry_after)
            is_broken = response.reason == "broken"
            raise self._links.build_not_connected_error(
                tool.owner, broken=is_broken, kind=response.kind, cause=response.cause
            )
        return response

    async def _request_with_retries(
        self, lease_request: LeaseRequest, deadline: float
    ) -> Lease | NoCredential | CredentialRefusal:
        """Retry up to three times, with exponential backoff, jitter and within the call's deadline, while no connection
        to the broker can be made. Every other failure is final: the broker may have acted on the request, or has said
        itself that it cannot serve it."""
        pause = FIRST_PAUSE
        for _ in range(RETRIES):
            try:
                return await self._broker.lease(lease_request)
            except BrokerUnreachable:
                wait = pause * (0.5 + self._chance())
                if asyncio.get_running_loop().time() + wait >= deadline:
                    raise
                await self._sleep(wait)
                pause *= 2
        return await self._broker.lease(lease_request)


class ToolLeaseSource(msgspec.Struct, eq=False):
    """Implements :class:`gateway.vendor_session.lease_source.LeaseSource` for one request to a vendor, which begins
    with `lease`.

    A refusal is reported to the broker at once where another token can be had; the request then goes out with that. Of
    a pasted key none can, and telling ends it: one stray 401 must not cost anybody their key, so the first only makes
    it look whether the key was replaced meanwhile, and the second is told.
    """

    _leases: LeaseCache
    _request: RequestContext
    _tool: CatalogueTool
    _lease: CachedLease
    _was_refused: bool = False

    async def lease(self, rejected_version: int | None = None) -> CachedLease:
        """Return the lease to begin a request with; with `rejected_version`, the one to repeat it with."""
        if rejected_version is None:
            return self._lease
        report = self._lease.renewable or self._was_refused
        self._was_refused = True
        self._lease = await self._leases.replace_lease(self._request, self._tool, self._lease, report=report)
        return self._lease


def _build_key(request: RequestContext, tool: CatalogueTool) -> _LeaseKey:
    return request.caller.credential.id, tool.module, tool.name


def _build_cached_lease(
    tool: CatalogueTool, tenant_id: UUID, lease: Lease, generation: int | None, now: float
) -> CachedLease:
    api = tool.owner.vendor
    assert api is not None, "only modules with a vendor ask for leases"
    try:
        settings = api.settings.model_validate(dict(lease.settings))
    except ValidationError:
        raise build_unfit_settings_error(tool.owner) from None
    valid_until = now + min(MAX_CACHE_SECONDS, lease.expires_in)
    return CachedLease(
        access_token=lease.access_token,
        version=lease.version,
        credential=str(lease.credential_id),
        kind=lease.kind,
        settings=settings,
        origins=lease.origins,
        attributes=lease.attributes,
        scheme=lease.scheme,
        owner=ConnectionOwner(str(tenant_id), f"{lease.credential_id}/{lease.grant}"),
        renewable=lease.renewable,
        generation=generation,
        valid_until=valid_until,
    )
