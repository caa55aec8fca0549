"""Interface of the control plane in the broker's process: it adds a section to the admin API, and the console."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from broker.interface import JobRetries
from core.connection_state import UserConnectionReader
from core.db import Database
from core.directory.account_revocation import AccountRevoker

if TYPE_CHECKING:  # the framework's import takes half a second
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from core.api.app import ApiSection
    from core.api.security import ApiSecurity
    from core.directory.scim import ScimCaller
    from core.secret import Secret


class ControlPlaneApi(Protocol):
    """Builds the admin API and the console of a process that has the control plane's database role."""

    def build_api(
        self,
        security: "ApiSecurity",
        broker: Database | None,
        account_revoker: AccountRevoker,
        connections: UserConnectionReader,
        retries: JobRetries,
        sections: "Sequence[ApiSection]",
        release: str,
    ) -> ASGIApp:
        """Build the admin API with the broker's `sections`; `broker` is the database in the broker's role, None where
        the broker is another process."""
        ...

    def build_scim(
        self,
        verify: "Callable[[Secret], Awaitable[ScimCaller | None]]",
        account_revoker: AccountRevoker,
        get_client_address: "Callable[[Request], str]",
    ) -> ASGIApp:
        """Build what identity providers provision by; `verify` tells whom a SCIM token speaks for."""
        ...

    def build_console_routes(self) -> Sequence[BaseRoute]:
        """Build the routes of the web app."""
        ...

    def has_console(self) -> bool:
        """Check whether the web app has been built."""
        ...
