"""Authenticated caller of the admin API, and the interface that finds out who it is."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol
from uuid import UUID

from core.directory.audit_trail import Actor
from core.errors import MCPistError
from core.scopes import covers

if TYPE_CHECKING:
    from starlette.requests import Request

ADMIN_SYSTEM_ROLE = "admin"
REQUEST_ID = "mcpist.request_id"
"""Entry of a request's scope: its identifier, as the answer and the log have it."""
PASSIVE_REQUEST = "mcpist.passive_request"
"""Entry of a request's scope: true where a page asks by itself, which is no use of its session."""


@dataclass(frozen=True, slots=True)
class Principal:
    """A signed-in person and what the credential that speaks for them may do.

    `system_role` is that of this moment, not of when the credential was made. `authenticated_at` is when the person
    last proved who they are; None where the credential does not tell. `operator` may administer the whole deployment.
    `client` is the id of the OAuth client. With the authentication method `operator` it is the command line on the
    product's own machine: no user, and the tenant that the request names. `request_id` is that of the request.
    """

    tenant_id: UUID
    user_id: UUID
    email: str
    system_role: str
    scopes: frozenset[str]
    authenticated_at: datetime | None
    authentication_method: Literal["session", "token", "oauth", "operator"]
    credential_id: str = ""
    client: str = ""
    operator: bool = False
    request_id: str = ""

    @property
    def actor(self) -> Actor:
        """The principal as the audit log names them."""
        user_id = None if self.is_operator_credential else self.user_id
        return Actor(self.email, user_id, self.credential_id, self.request_id)

    @property
    def is_operator_credential(self) -> bool:
        """Check whether the command line on the product's own machine asks, which is no user."""
        return self.authentication_method == "operator"

    def is_administrator_with(self, scope: str) -> bool:
        """Check whether this is an administrator of their tenant whose credential has `scope`."""
        return self.system_role == ADMIN_SYSTEM_ROLE and covers(self.scopes, scope)


class RequestAuthenticator(Protocol):
    """Tells whom a request speaks for; the composition root gives one to each application."""

    async def __call__(self, request: "Request") -> Principal:
        """Return the principal of a bearer credential or a session cookie.

        Raises:
            Unauthenticated: there is none that counts; for a client all of those look alike.
            core.errors.LimitReached: this address has sent too many wrong ones.
            core.errors.Unavailable: the database is away.
        """
        ...


class AuthenticationRequired(MCPistError):
    """Raised for a missing, invalid or expired credential."""

    status, code, exit_code = 401, "unauthenticated", 3


class CrossOriginRequest(MCPistError):
    """A browser says that another site has sent this."""

    status, code, exit_code = 403, "cross_origin", 3


class MissingCredentialScope(MCPistError):
    """The user may do this, but the credential may not do it for them. `scope` is what it lacks."""

    status, code, exit_code = 403, "insufficient_scope", 3

    def __init__(self, scope: str) -> None:
        super().__init__(f"this needs a credential with the scope {scope}")
        self.scope = scope


class RecentSignInRequired(MCPistError):
    """Raised where a new credential would be made by a user whose sign-in is not recent."""

    status, code, exit_code = 403, "recent_sign_in_required", 3
    minutes: ClassVar[int] = 10
