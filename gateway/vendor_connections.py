"""Vendors as tools and meta-tools see them: a client for a run, and how the caller's accounts stand."""

import asyncio
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import msgspec

from broker.interface import AccountBroker, CredentialRefusal
from core.caller import Caller
from core.concurrency.cooperative_steps import LARGE_STEP_BYTES, wait_for_turn
from core.concurrency.lru_cache import GenerationCache
from core.connection_state import ConnectionState, CredentialKind, ModuleConnection
from core.generations import Generations
from core.secret import Secret
from gateway.catalogue import CatalogueTool
from gateway.change_tracker import ChangeTracker
from gateway.connection_messages import MISCONFIGURED, NO_SITE, ORIGIN_CHANGED, READING_ONLY, ConnectMessages
from gateway.lease_cache import CachedLease, LeaseCache, ToolLeaseSource
from gateway.mcp.request_context import RequestContext
from gateway.vendor_session.answer_reader import SAFE_METHODS
from gateway.vendor_session.client_factory import VendorClientFactory
from gateway.vendor_session.download_client import download_part
from gateway.vendor_session.lease_source import LeaseLike
from gateway.vendor_session.vendor_access import VendorAccess
from gateway.vendor_session.vendor_client import VendorClient
from gateway.vendor_session.vendor_problems import OriginNotAllowed
from modules.kit import Download, Module, MultipartBody, RawBody, ToolError, Vendor, VendorAnswer, VendorProblem

MAX_CACHED_CONNECTIONS = 10_000
POLL_SECONDS = 0.5
CONNECT_WAIT_SECONDS = 20.0
"""Seconds that a call waits for the person who connects an account meanwhile: clients give a call sixty."""


class VendorConnections:
    """The vendor side of one gateway."""

    def __init__(
        self,
        broker: AccountBroker,
        generations: Generations,
        leases: LeaseCache,
        sessions: VendorClientFactory,
        links: ConnectMessages,
    ) -> None:
        self._links = links
        self._broker = broker
        self._generations = generations
        self._leases = leases
        self._sessions = sessions
        self._cached_connections = GenerationCache[str, Mapping[str, ModuleConnection]](
            MAX_CACHED_CONNECTIONS, generations.current
        )

    def create_client(self, request: RequestContext, tool: CatalogueTool, changes: ChangeTracker) -> Vendor:
        """Create a client of the vendor of the tool's module, with the caller's credential. `changes` counts the
        writes that are sent.

        Raises:
            ToolError: the module has no vendor.
        """
        if tool.owner.vendor is None:
            raise ToolError("this module has no vendor")
        return _LeasedVendor(self._sessions, self._leases, self._links, request, tool, changes)

    async def get_credential_id(self, request: RequestContext, tool: CatalogueTool) -> UUID | None:
        """Return the id of the credential that the tool uses for this caller; None where it has no vendor.

        Raises:
            ToolError: there is none now.
            core.errors.Unavailable: the broker is away.
        """
        if tool.owner.vendor is None:
            return None
        return UUID((await self._leases.get_lease(request, tool)).credential)

    async def find_account(self, request: RequestContext, tool: CatalogueTool) -> UUID | None:
        """Find the account with which the tool would reach its vendor for this caller, as the id of its credential;
        None where the tool has no vendor.

        Raises:
            gateway.connection_messages.NotConnected: there is none that works.
            ToolError: it cannot be used now.
            core.errors.Unavailable: the broker is away.
        """
        request.turn.release()
        try:
            return await self.get_credential_id(request, tool)
        finally:
            request.turn.resume()

    def build_account_hint(self, tool: CatalogueTool, error: Exception) -> str:
        """Build the hint where to change accounts after a vendor has refused one; "" for any other error."""
        return self._links.build_account_hint(tool.owner, error)

    async def find_obstacle(self, request: RequestContext, tool: CatalogueTool) -> ToolError | None:
        """Find out why the tool cannot reach its vendor for this caller; None when it can.

        Raises:
            core.errors.Unavailable: the broker is away.
        """
        if tool.owner.vendor is None:
            return None
        request.turn.release()
        try:
            await self._leases.get_lease(request, tool)
        except ToolError as error:
            return error
        finally:
            request.turn.resume()
        return None

    async def describe_connection(self, request: RequestContext, module: Module) -> dict[str, str]:
        """Describe the caller's connection to the module: `connection`, and for an unusable one, what to do."""
        if module.vendor is None or not isinstance(subject := request.subject, Secret):
            return {"connection": ConnectionState.READY.value}
        connection = (await self._load_connections(request.caller, subject)).get(module.name)
        state = connection.state if connection else ConnectionState.NEEDS_CONNECT
        if connection and state in (ConnectionState.READY, ConnectionState.CONNECTED):
            label = "shared" if connection.kind == "shared" else state.value
            return {
                "connection": label,
                **self._describe_limits(module, connection),
                **self._links.build_warning(module, connection.cause),
            }
        broken, kind = state is ConnectionState.BROKEN, connection.kind if connection else None
        cause = {"cause": connection.cause} if connection and connection.cause else {}
        note = self._links.build_note(module, broken=broken, kind=kind, cause=cause.get("cause", ""))
        remedy = {} if cause.get("cause") == MISCONFIGURED else {"connect": self._links.build_url(module)}
        return {"connection": state.value, **cause, "note": note, **remedy}

    def _describe_limits(self, module: Module, connection: ModuleConnection) -> dict[str, str]:
        if not connection.reading_only:
            return {}
        note = self._links.build_note(module, broken=False, kind=connection.kind, cause=READING_ONLY)
        return {"cause": READING_ONLY, "note": note, "connect": self._links.build_url(module)}

    async def list_connected_modules(self, caller: Caller, subject: Secret) -> frozenset[str]:
        """List the modules whose vendor the caller has a working account at.

        Raises:
            core.errors.Unavailable: the broker is away.
        """
        connections = await self._load_connections(caller, subject)
        return frozenset(
            name for name, connection in connections.items() if connection.state is ConnectionState.CONNECTED
        )

    async def await_connection(self, request: RequestContext, tool: CatalogueTool) -> None:
        """Return when the caller's account at the tool's vendor works, or after `PATIENCE`, or if there is none to
        wait for. Clients send a call again as soon as the person has agreed to open a page, not when they are done."""
        loop = asyncio.get_running_loop()
        request.turn.release()  # until the tool begins: a person takes their time
        wait_end = min(loop.time() + CONNECT_WAIT_SECONDS, request.deadline - CONNECT_WAIT_SECONDS / 4)
        while isinstance(subject := request.subject, Secret) and loop.time() < wait_end and not request.authority.ended:
            connection = (await self._load_connections(request.caller, subject)).get(tool.module)
            is_limited = connection is not None and connection.reading_only and not tool.tool.hints.read_only
            if connection is None or (connection.state is ConnectionState.CONNECTED and not is_limited):
                return
            await asyncio.sleep(POLL_SECONDS)

    async def _load_connections(self, caller: Caller, subject: Secret) -> Mapping[str, ModuleConnection]:
        """Load the broker's answer, kept under the tenant's generation."""
        credential, generation = caller.credential, self._generations.current(caller.tenant_id)
        cached = self._cached_connections.get(credential.id)
        if cached is not None:
            return cached
        answer = await self._broker.get_connections(subject)
        connections: Mapping[str, ModuleConnection] = {} if isinstance(answer, CredentialRefusal) else answer
        self._cached_connections.put(credential.id, connections, caller.tenant_id, generation)
        return connections


class _LeasedVendor(msgspec.Struct, eq=False):
    """Implements :class:`modules.kit.Vendor`: the lease comes first, because the service's settings come with it."""

    _sessions: VendorClientFactory
    _leases: LeaseCache
    _links: ConnectMessages
    _request: RequestContext
    _tool: CatalogueTool
    _changes: ChangeTracker

    async def get_connection(self) -> Mapping[str, str]:
        return (await self._leases.get_lease(self._request, self._tool)).attributes

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        json: Any = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool | None = None,
        body: RawBody | MultipartBody | None = None,
        host: str = "",
    ) -> VendorAnswer:
        turn = self._request.turn
        turn.release()
        try:
            lease = self._leases.find_lease(self._request, self._tool)
            if lease is None:
                lease = await self._leases.get_lease(self._request, self._tool)
            client = self._create_client(lease, host)
            is_safe = method in SAFE_METHODS if repeatable is None else repeatable
            if not is_safe:
                self._changes.require_may_act()
            answer = client.request(
                method, path, query=query, json=json, headers=headers, repeatable=repeatable, body=body
            )
            if is_safe:
                return await answer
            with self._changes.track_vendor_write():
                return await answer
        finally:
            turn.resume()

    async def download(
        self,
        path: str,
        *,
        limit: int,
        offset: int = 0,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        host: str = "",
    ) -> Download:
        turn = self._request.turn
        turn.release()
        lease = None
        try:
            lease = await self._leases.get_lease(self._request, self._tool)
            client = self._create_client(lease, host)
            found = await download_part(client, path, limit=limit, offset=offset, query=query, headers=headers)
        except OriginNotAllowed:
            assert lease is not None
            raise self.build_origin_error(host, lease.kind) from None
        finally:
            turn.resume()
        if len(found.content) > LARGE_STEP_BYTES:
            await wait_for_turn(len(found.content))
        return found

    def build_origin_error(self, host: str, kind: CredentialKind) -> ToolError:
        """Build the error of a request to an address that the connected account is not for."""
        if not host:
            return self._links.build_not_connected_error(self._tool.owner, broken=True, kind=kind, cause=ORIGIN_CHANGED)
        return VendorProblem(
            "refused",
            f"the connected account was not connected for the address in the service's {host}_url: connect the account "
            "again, and if this stays, an administrator corrects that setting",
        )

    def _create_client(self, lease: CachedLease, host: str) -> VendorClient:
        access = lease.accesses.get(host) or self._prepare_access(lease, host)
        source = ToolLeaseSource(self._leases, self._request, self._tool, lease)
        return _LeasedClient(access, source, self._request.deadline, lease, _vendor=self, _host=host, _kind=lease.kind)

    def _prepare_access(self, lease: CachedLease, host: str) -> VendorAccess:
        """Prepare what all requests with the lease to the API, or to a further host, share."""
        api = self._tool.owner.vendor
        assert api is not None
        if api.placeholders and not lease.settings.base_url and not lease.attributes.keys() >= set(api.placeholders):
            raise self._links.build_not_connected_error(self._tool.owner, broken=True, kind=lease.kind, cause=NO_SITE)
        access = self._sessions.create_access(api, lease.settings, lease.owner, lease.attributes, host)
        lease.accesses[host] = access
        return access


class _LeasedClient(VendorClient, eq=False, kw_only=True):
    """Requests with a lease of a tool's."""

    _vendor: _LeasedVendor
    _host: str
    _kind: CredentialKind

    def _build_origin_error(self, lease: LeaseLike) -> ToolError:
        return self._vendor.build_origin_error(self._host, self._kind)
