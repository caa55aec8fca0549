"""Interface of the broker for the gateway. One contract suite runs against every implementation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable
from uuid import UUID

from core.caller import Credential
from core.connection_state import CredentialKind, ModuleConnection
from core.errors import Unavailable
from core.http.credential_headers import BEARER, CredentialScheme
from core.secret import Secret

if TYPE_CHECKING:  # a gateway does without it
    from starlette.requests import Request


class BrokerUnreachable(Unavailable):
    """No connection to the broker could be made, so nothing of the request has arrived: to ask again is safe."""


class RefusalReason(StrEnum):
    """Why a credential is refused: for the audit log only, never for the client."""

    UNKNOWN = "unknown"
    WRONG_SECRET = "wrong_secret"  # noqa: S105 a reason's name
    EXPIRED = "expired"
    REVOKED = "revoked"
    USER_SUSPENDED = "user_suspended"
    TENANT_SUSPENDED = "tenant_suspended"
    FORBIDDEN = "forbidden"
    """The credential counts, but the tool does not exist for whom it speaks for, hidden or made up; or a mandate is not
    for it."""

    NO_CONSENT = "no_consent"
    """A mandate whose person has not agreed yet."""

    TOO_MANY = "too_many"
    """The person has as many live mandates as anybody may have."""


@dataclass(frozen=True, slots=True)
class CredentialRefusal:
    """The credential does not count. Whose it was is known when its id was: the tenant's audit log gets the event, by
    `audit_pass`."""

    reason: RefusalReason
    tenant_id: UUID | None = None
    user_id: UUID | None = None
    credential_id: str | None = None
    audit_pass: str = field(default="", repr=False, compare=False)


class MandatePurpose(StrEnum):
    """What a mandate is for."""

    JOB = "job"
    SCHEDULE = "schedule"
    SYNC = "sync"


@dataclass(frozen=True, slots=True)
class MandateTerms:
    """What a mandate is for, with which tools, and until when.

    `tools` are pairs of module and tool. `purpose_id` is the id of the job, schedule or sync, chosen at random by
    whoever makes that. `title` is what the person reads later: a name of the work, and nothing of its arguments.
    """

    purpose: MandatePurpose
    purpose_id: UUID
    title: str
    tools: tuple[tuple[str, str], ...]
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class MandateRequest:
    """Asks for a mandate while the person is there: `subject` is their own credential. The rest as in
    :class:`MandateTerms`."""

    subject: Secret
    purpose: MandatePurpose
    purpose_id: UUID
    title: str
    tools: tuple[tuple[str, str], ...]
    expires_at: datetime

    @property
    def terms(self) -> MandateTerms:
        return MandateTerms(self.purpose, self.purpose_id, self.title, self.tools, self.expires_at)


@dataclass(frozen=True, slots=True)
class MandateReference:
    """Names a mandate: what a worker presents in place of a caller's credential. It is no secret, because it counts
    together with a worker's key only."""

    mandate_id: UUID
    purpose_id: UUID


@dataclass(frozen=True, slots=True)
class Mandate:
    """A person's permission to use tools in their absence, as it was made. `expires_at` may be sooner than was asked.
    One for a job counts at once; with `needs_consent` it counts when the person has agreed, at ``/account``."""

    id: UUID
    tenant_id: UUID
    user_id: UUID
    purpose: MandatePurpose
    purpose_id: UUID
    expires_at: datetime
    needs_consent: bool = False

    @property
    def reference(self) -> MandateReference:
        return MandateReference(self.id, self.purpose_id)


@dataclass(frozen=True, slots=True)
class JobToRetry:
    """A job that has ended, and that its person has run once more.

    `tools` are those that it may use, and `lifetime` is how long its new mandate lasts at most. `schedule` names the
    mandate of the schedule that made the job, which all of its runs share.
    """

    id: UUID
    title: str
    tools: tuple[tuple[str, str], ...]
    lifetime: timedelta
    schedule: MandateReference | None = None


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """Asks for a way to use one tool at its vendor. The broker believes nothing of the gateway but this.

    `subject` is the caller's own credential, an API token or an access token; where a worker asks, a mandate.
    `rejected_version` is that of a lease which the vendor has just refused.
    """

    subject: Secret | MandateReference
    module: str
    tool: str
    rejected_version: int | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """A vendor's access token for one caller: kept in memory only, and for at most `expires_in` seconds.

    `settings` are the tenant's for the service. `renewable` says that another token can be had in place of one which
    the vendor refuses; of a pasted key none can, and telling of its refusal ends it. `origins` are the only ones that
    the token may be sent to, and `attributes` what is known of the connection beside it, such as the site that the
    person chose; none is secret. `scheme` is how the token is sent. `grant` names what the vendor counts requests for,
    in no readable form: it stays when the token is refreshed, and changes with another key or account.
    """

    access_token: Secret
    version: int
    expires_in: float
    kind: CredentialKind
    credential_id: UUID
    settings: Mapping[str, Any]
    renewable: bool = True
    origins: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    scheme: CredentialScheme = BEARER
    grant: str = ""


@dataclass(frozen=True, slots=True)
class NoCredential:
    """The caller may use the tool, but the vault has nothing that works.

    `cause` is a fixed word for a broken one. With `retry_after` (seconds) it passes by itself: nobody has to connect
    anything again.
    """

    module: str
    reason: Literal["missing", "broken"]
    kind: CredentialKind | None = None
    cause: str = ""
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class TenantKeyLease:
    """A tenant's own key of a vendor: kept in memory only, and for at most `expires_in` seconds. `origins` are the only
    ones that it may be sent to."""

    key: Secret
    expires_in: float
    origins: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoTenantKey:
    """The tenant has no key of this kind, or the vault cannot read it."""

    reason: Literal["missing", "unreadable"]


class Verifier(Protocol):
    """Tells whom a credential speaks for."""

    async def verify(self, token: Secret) -> Credential | CredentialRefusal:
        """Check an API token or an access token against what is stored.

        Raises:
            core.errors.Unavailable: the broker or its database cannot be reached.
        """
        ...

    async def verify_again(self, tenant_id: UUID, tokens: Sequence[Secret]) -> Sequence[Credential | None]:
        """Check credentials that were all of this tenant when they were verified, each as :meth:`verify` does, and
        return them in that order. None: it does not count any more, or cannot be checked among others; :meth:`verify`
        tells which.

        Raises:
            core.errors.Unavailable: the broker or its database cannot be reached.
        """
        ...


class MandateBroker(Protocol):
    """Mandates as gateways and workers have them. That of a job ends with the job, in the database."""

    async def create_mandate(self, request: MandateRequest) -> Mandate | CredentialRefusal:
        """Make a mandate for tools that the caller may all use. Asked again for the same, it gives the same one.

        Raises:
            core.errors.Unavailable: the broker or its database cannot be reached.
        """
        ...

    async def verify_mandate(self, reference: MandateReference) -> Credential | CredentialRefusal:
        """Tell whom a mandate speaks for now; for workers only. A mandate of which a tool is not permitted any more
        ends.

        Raises:
            core.errors.Unavailable: the broker or its database cannot be reached.
        """
        ...

    async def end_mandate(self, reference: MandateReference) -> None:
        """End a mandate, because its work has ended; one that is not there has ended.

        Raises:
            core.errors.Unavailable: the broker or its database cannot be reached.
        """
        ...


class JobRetries(Protocol):
    """Mandates as the control plane has them, for jobs that are run once more."""

    async def permit_retry(self, request: "Request", job: JobToRetry) -> UUID | RefusalReason:
        """Find out anew for whom a request of the admin API speaks, by its credential, and give the job a mandate of
        that person's for tools that they may all use; return the mandate's id. A job of a schedule has the schedule's,
        while that counts. Asked again for the same, it gives the same one.

        Raises:
            core.api.principal.AuthenticationRequired: the request speaks for nobody.
            core.errors.LimitReached: its address has sent too many wrong credentials.
            core.errors.Unavailable: the broker or its database cannot be reached.
        """
        ...


class AccountBroker(Protocol):
    """Accounts at vendors, for whom a credential or a mandate speaks for."""

    async def get_connections(self, subject: Secret) -> Mapping[str, ModuleConnection] | CredentialRefusal:
        """How the vendor modules that the caller may use stand, by module. There is no way to ask about others.

        A module whose tools depend on several roles is shown with the credential of the highest of them.

        Raises:
            core.errors.Unavailable: the broker or its database cannot be reached.
        """
        ...

    async def lease(self, request: LeaseRequest) -> Lease | NoCredential | CredentialRefusal:
        """Hand out the credential that the tool has to use: the caller's own, else that of their highest role that
        permits the tool and has one (docs/dev/glossary.md). A worker's mandate is asked the same, and has to name the
        tool.

        Raises:
            BrokerUnreachable: no connection to the broker could be made.
            core.errors.Unavailable: the broker, its database or a key cannot be reached.
        """
        ...


class TenantKeyBroker(Protocol):
    """Keys of vendors that a tenant has for all of its people."""

    async def lease_tenant_key(
        self, subject: Secret | MandateReference, kind: str
    ) -> TenantKeyLease | NoTenantKey | CredentialRefusal:
        """Hand out the key of a kind, such as ``voyage``, of the tenant that `subject` is of: an active person's own
        credential that may read by MCP, or where a worker asks, a mandate. A kind that nobody knows is missing.

        Raises:
            BrokerUnreachable: no connection to the broker could be made.
            core.errors.Unavailable: the broker, its database or a key cannot be reached.
        """
        ...


class Broker(Verifier, AccountBroker, TenantKeyBroker, MandateBroker, Protocol):
    """The trust zone's services to the data plane."""


@dataclass(frozen=True, slots=True)
class BrokerProblem:
    """Why a broker in another process does not answer. A refusal (an unknown key, clocks that differ, another
    version) does not go away by itself; anything else may."""

    cause: str
    is_refusal: bool


@runtime_checkable
class RemoteBroker(Protocol):
    """A broker in another process, which may be away."""

    async def find_problem(self) -> BrokerProblem | None:
        """Ask the broker something, within two seconds; return why it did not answer."""
        ...
