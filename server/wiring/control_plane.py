"""The control plane's part of the admin API, which has a database role of its own and looks at the whole deployment."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from admin_ui.api.schedule_creator import ScheduleCreator, create_nothing
from admin_ui.console_files import is_console_built
from admin_ui.console_pages import build_console_routes
from broker.interface import JobRetries
from core.audit.change_feed import ChangeFeed
from core.config.settings import Settings
from core.connection_state import UserConnectionReader
from core.db import Database
from core.directory.account_revocation import AccountRevoker
from gateway.catalogue import Catalogue
from server.deployment import Deployment
from server.operator_access import OperatorAccess
from server.role_database import CONSOLE_ROLE

if TYPE_CHECKING:  # the framework's import takes half a second
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from admin_ui.api.event_streams import EventStreams
    from core.api.app import ApiSection
    from core.api.security import ApiSecurity
    from core.directory.scim import ScimCaller
    from core.secret import Secret


class ControlPlane:
    """Implements :class:`server.wiring.control_plane_api.ControlPlaneApi`. `console` is the database in the control
    plane's role; without `deployment` the checks look at no keys and folders; `operator` is the access of commands on
    this machine; `create_schedule` has a gateway make a schedule."""

    def __init__(
        self,
        settings: Settings,
        console: Database,
        catalogue: Catalogue,
        deployment: Deployment | None = None,
        operator: OperatorAccess | None = None,
        create_schedule: ScheduleCreator = create_nothing,
    ) -> None:
        self._settings = settings
        self._console = console
        self._catalogue = catalogue
        self._deployment = deployment
        self._operator = operator
        self._create_schedule = create_schedule
        self._events: EventStreams | None = None

    def end_event_streams(self) -> None:
        """End the event streams of the console, before the process stops."""
        if self._events is not None:
            self._events.close()

    def _open_events(self) -> "EventStreams":
        from admin_ui.api.event_streams import EventStreams
        from jobs.events import JobEvents

        address = None if self._deployment is None else self._deployment.get_role_address(CONSOLE_ROLE)
        jobs = None if address is None else JobEvents(address)
        self._events = EventStreams(self._console, ChangeFeed(self._console, address), jobs=jobs)
        return self._events

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
        the broker is another process: then there are no checks of keys and accounts."""
        from admin_ui.api.admin_dependencies import AdminDependencies
        from admin_ui.api.app import build_admin_api
        from admin_ui.api.deployment_checks import NoDeploymentChecks
        from gateway.module_manifests import build_module_manifests
        from server.diagnostics.server_checks import ServerChecks
        from server.installed_modules import build_installed_modules
        from server.tool_catalogue import InstalledToolCatalogue
        from server.wiring.operator_authentication import OperatorAuthenticator

        if self._operator is not None:
            security = replace(
                security, authenticate=OperatorAuthenticator(self._operator, self._console, security.authenticate)
            )
        catalogue, deployment = self._catalogue, self._deployment
        deployment_checks = (
            None
            if deployment is None or broker is None
            else ServerChecks(self._settings, deployment, self._console, broker, catalogue)
        )
        installed = build_installed_modules(build_module_manifests(catalogue), lambda: catalogue)
        checks = deployment_checks or NoDeploymentChecks()
        control = AdminDependencies(
            self._console,
            InstalledToolCatalogue(lambda: catalogue),
            self._open_events(),
            tuple(installed),
            installed,
            checks,
            account_revoker,
            connections,
            retries,
            self._create_schedule,
            self._settings.audit_keep_months,
        )
        return build_admin_api(security, control, *sections, version=release)

    def build_scim(
        self,
        verify: "Callable[[Secret], Awaitable[ScimCaller | None]]",
        account_revoker: AccountRevoker,
        get_client_address: "Callable[[Request], str]",
    ) -> ASGIApp:
        """Build what identity providers provision by; `verify` tells whom a SCIM token speaks for."""
        from admin_ui.scim.app import ScimDependencies, build_scim_app
        from core.directory.scim import ScimDirectory

        directory = ScimDirectory(self._console, account_revoker)
        return build_scim_app(
            ScimDependencies(directory, verify, get_client_address, self._settings.public_url, time.monotonic)
        )

    def build_console_routes(self) -> Sequence[BaseRoute]:
        """Build the routes of the web app."""
        return build_console_routes()

    def has_console(self) -> bool:
        """Check whether the web app has been built."""
        return is_console_built()
