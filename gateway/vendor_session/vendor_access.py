"""State that all requests with one lease to one host of a vendor share; it is prepared once."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from core.http.credential_headers import InvalidCredentialForm, QuotaRule, build_credential_header
from core.http.outbound_addresses import AllowedAddresses
from gateway.vendor_session.connection_pool import ConnectionPool
from gateway.vendor_session.credential_limits import CredentialLimits
from gateway.vendor_session.lease_source import LeaseLike
from gateway.vendor_session.vendor_connection import ConnectionOwner
from gateway.vendor_session.vendor_endpoint import VendorEndpoint
from modules.kit import VendorProblem, VendorSettings

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class VendorTransport:
    """Resources that all vendor clients of a process share."""

    pool: ConnectionPool
    allow: AllowedAddresses
    limits: CredentialLimits
    clock: Clock
    wall_clock: Clock
    pause: Callable[[float], Awaitable[None]]
    chance: Callable[[], float]


class VendorAccess:
    """One owner's access to one endpoint. The lines of the last lease are kept with it, and printed nowhere.

    `timeout` is that of a request, in seconds; `concurrency` is how many may run with the credential `key`.
    """

    __slots__ = (
        "_credential", "_lease", "_lines", "attributes", "clock", "concurrency", "endpoint", "key", "limits", "owner",
        "pool", "route", "target", "timeout", "transport",
    )  # fmt: skip

    def __init__(
        self,
        transport: VendorTransport,
        endpoint: VendorEndpoint,
        settings: VendorSettings,
        owner: ConnectionOwner,
        attributes: Mapping[str, str],
    ) -> None:
        self.transport = transport
        self.endpoint = endpoint
        self.owner = owner
        self.attributes = attributes
        self.clock, self.pool, self.limits = transport.clock, transport.pool, transport.limits
        self.target, self.route, self.key = endpoint.target, endpoint.route, owner.credential
        self.timeout, self.concurrency = settings.timeout, settings.concurrency
        self._lease: LeaseLike | None = None
        self._credential = ("", "")
        self._lines = ""

    @property
    def quota(self) -> QuotaRule | None:
        """How the vendor tells that the requests of the last lease's credential are used up."""
        return None if self._lease is None else self._lease.scheme.quota

    def may_use(self, lease: LeaseLike) -> bool:
        """Check whether the lease's credential may be sent to this endpoint."""
        return lease is self._lease or self.target.origin in lease.origins

    def build_header_lines(self, lease: LeaseLike, lines: str | None) -> str:
        """Build the header lines of a request, with the credential: of `lines`, or of the endpoint's own for None. The
        lease is one that may be used here.

        Raises:
            VendorProblem: the credential has not the form of its scheme, or a module sets the same header.
        """
        if lease is not self._lease:
            self._credential = _encode_credential(lease)
            self._lines = self._add_credential(self.endpoint.header_lines)
            self._lease = lease
        return self._lines if lines is None else self._add_credential(lines)

    def _add_credential(self, lines: str) -> str:
        name, value = self._credential
        if lines.startswith(f"{name}: ") or f"\r\n{name}: " in lines:
            raise VendorProblem("refused", "the tool sets the header that carries the credential; report this")
        return f"{lines}{name}: {value}\r\n"


def _encode_credential(lease: LeaseLike) -> tuple[str, str]:
    try:
        return build_credential_header(lease.scheme, lease.access_token)
    except InvalidCredentialForm:
        text = "the stored credential has characters that cannot be sent; store it again without spaces"
        raise VendorProblem("unauthorized", text) from None
