"""Leases in the gateway's memory: asked of the broker once, kept for seconds, gone with the tenant's generation."""

import asyncio
import random
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from pydantic import ValidationError

from broker.interface import Broker, Lease, LeaseRequest, NoCredential, Refused
from core.errors import Unavailable
from core.generations import Generations
from core.secret import Secret
from gateway.catalogue import CatalogueTool
from gateway.connecting import PASSING, ConnectLinks
from gateway.mcp.context import RequestContext
from modules.kit import ToolError, VendorSettings

MOST_CACHED = 10_000
LONGEST = 60.0
RETRIES = 3
FIRST_PAUSE = 0.05

_Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Held:
    """A lease as the gateway holds it, with the service's settings in the form that the module declares."""

    access_token: Secret
    version: int
    credential: str
    settings: VendorSettings
    generation: int | None
    until: float


class Leases:
    """Leases of one process, by (caller's credential, module, tool). Nothing of them is ever written anywhere."""

    def __init__(
        self,
        broker: Broker,
        generations: Generations,
        links: ConnectLinks,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._links = links
        self._broker = broker
        self._generations = generations
        self._clock = clock
        self._held: OrderedDict[_Key, Held] = OrderedDict()
        self._asking: dict[_Key, asyncio.Task[Held]] = {}

    async def hold(
        self, request: RequestContext, tool: CatalogueTool, *, fresh: bool = False, rejected_version: int | None = None
    ) -> Held:
        """The credential that counts for this caller and tool. `fresh` passes over what is held here;
        `rejected_version` is one that the vendor has refused twice: the broker takes it for broken.

        Raises:
            gateway.connecting.NotConnected: there is none, or it is broken; the text says what to do.
            ToolError: what the caller may use has just changed, or the service is set up wrongly.
            core.errors.Unavailable: the broker is away.
        """
        key = (request.caller.credential.id, tool.module, tool.tool.name)
        if fresh or rejected_version is not None:
            return await self._renewed(key, request, tool, rejected_version)
        held = self._held.get(key)
        if held is None or not self._counts(request, held):
            held = await self._once(key, request, tool)
        return held

    async def _once(self, key: _Key, request: RequestContext, tool: CatalogueTool) -> Held:
        """Ask once for all calls that miss the same lease now; one that goes away stops nobody, and one that came
        after a change asks for itself."""
        task = self._asking.get(key)
        if task is None:
            task = self._asking[key] = asyncio.create_task(self._renewed(key, request, tool, None))
            task.add_done_callback(lambda done: self._asked(key, done))
            return await asyncio.shield(task)
        held = await asyncio.shield(task)
        return held if self._counts(request, held) else await self._renewed(key, request, tool, None)

    def _asked(self, key: _Key, done: asyncio.Task[Held]) -> None:
        self._asking.pop(key, None)
        if not done.cancelled():
            done.exception()  # whoever waits has it; nobody may be left who does

    async def _renewed(
        self, key: _Key, request: RequestContext, tool: CatalogueTool, rejected_version: int | None
    ) -> Held:
        self._held.pop(key, None)
        # Read before the broker is asked: what changes meanwhile makes the lease old, never new.
        generation = self._generations.current(request.caller.tenant_id)
        held = _held(tool, await self._ask(request, tool, rejected_version), generation, self._clock())
        self._held[key] = held
        if len(self._held) > MOST_CACHED:
            self._held.popitem(last=False)
        return held

    def _counts(self, request: RequestContext, held: Held) -> bool:
        if held.generation is None or self._clock() >= held.until:
            return False
        return held.generation == self._generations.current(request.caller.tenant_id)

    async def _ask(self, request: RequestContext, tool: CatalogueTool, rejected_version: int | None) -> Lease:
        if request.subject is None:
            raise ToolError("this way of calling has no credential of yours; call it from an MCP client")
        asked = LeaseRequest(request.subject, tool.module, tool.tool.name, rejected_version)
        answer = await self._patiently(asked, request.deadline)
        if isinstance(answer, Refused):
            raise ToolError("what you may use has just changed; ask get_module_schema again")
        if isinstance(answer, NoCredential):
            if answer.cause in PASSING:
                raise self._links.passing(tool.owner, answer.cause, answer.kind, answer.retry_after)
            raise self._links.missing(tool.owner, broken=answer.reason == "broken", kind=answer.kind)
        return answer

    async def _patiently(self, asked: LeaseRequest, deadline: float) -> Lease | NoCredential | Refused:
        """Ask again, three times at most and within the call's deadline, while the broker cannot be reached."""
        pause = FIRST_PAUSE
        for _ in range(RETRIES):
            try:
                return await self._broker.lease(asked)
            except Unavailable:
                wait = pause * random.uniform(0.5, 1.5)  # noqa: S311 jitter, no secret
                if asyncio.get_running_loop().time() + wait >= deadline:
                    raise
                await asyncio.sleep(wait)
                pause *= 2
        return await self._broker.lease(asked)


class ToolLease:
    """Implements :class:`gateway.vendor_session.lease_source.LeaseSource` for one request to a vendor, which begins
    with `held`.

    The first refusal makes it look again, because the credential may have been replaced meanwhile; only the second is
    told to the broker, for which it is broken then: one stray 401 must not cost anybody their account.
    """

    __slots__ = ("_held", "_leases", "_refused", "_request", "_tool")

    def __init__(self, leases: Leases, request: RequestContext, tool: CatalogueTool, held: Held) -> None:
        self._leases = leases
        self._request = request
        self._tool = tool
        self._held = held
        self._refused = False

    async def lease(self, rejected_version: int | None = None) -> Held:
        """See :meth:`Leases.hold`."""
        if rejected_version is None:
            return self._held
        if not self._refused:
            self._refused = True
            return await self._leases.hold(self._request, self._tool, fresh=True)
        return await self._leases.hold(self._request, self._tool, rejected_version=rejected_version)


def _held(tool: CatalogueTool, lease: Lease, generation: int | None, now: float) -> Held:
    api = tool.owner.vendor
    assert api is not None, "only modules with a vendor ask for leases"
    try:
        settings = api.settings.model_validate(dict(lease.settings))
    except ValidationError:
        raise ToolError(
            f"the settings of {tool.owner.title} do not fit; an administrator has to mend them (mcpist service set)"
        ) from None
    until = now + min(LONGEST, lease.expires_in)
    return Held(lease.access_token, lease.version, str(lease.credential_id), settings, generation, until)
