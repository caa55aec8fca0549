"""Dependencies of the control plane's routes."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Request

from admin_ui.api.audit_export import AuditExports
from admin_ui.api.deployment_checks import DeploymentChecks, NoDeploymentChecks
from admin_ui.api.event_streams import EventStreams
from admin_ui.api.installed_modules import InstalledModule
from admin_ui.api.schedule_creator import ScheduleCreator, create_nothing
from admin_ui.api.tool_catalogue import ToolCatalogue
from broker.interface import JobRetries, JobToRetry, RefusalReason
from core.connection_state import UserConnectionReader, read_no_connections
from core.db import Database
from core.directory.account_revocation import AccountRevoker, revoke_nothing
from core.directory.audit_retention import AuditRetentionStore


def _create_empty_modules() -> Mapping[str, InstalledModule]:
    return {}


class NoJobRetries:
    """Implements :class:`broker.interface.JobRetries` where nobody can be present."""

    async def permit_retry(self, request: Request, job: JobToRetry) -> UUID | RefusalReason:
        return RefusalReason.FORBIDDEN


@dataclass(frozen=True, slots=True)
class AdminDependencies:
    """`console` is the database in the control plane's role; `catalogue` knows the tools, and
    `events` the open event streams; `modules` are switched on in
    a new tenant; `checks` looks at keys and everything else that can be wrong; `account_revoker` revokes the vendor
    accounts of removed users, roles and tenants; `connections` tells how the services of a user stand; `retries`
    permits that jobs are run once more; `create_schedule` has a gateway make a schedule.
    """

    console: Database
    catalogue: ToolCatalogue
    events: EventStreams
    modules: tuple[str, ...] = ()
    installed: Mapping[str, InstalledModule] = field(default_factory=_create_empty_modules)
    checks: DeploymentChecks = field(default_factory=NoDeploymentChecks)
    account_revoker: AccountRevoker = revoke_nothing
    connections: UserConnectionReader = read_no_connections
    retries: JobRetries = field(default_factory=NoJobRetries)
    create_schedule: ScheduleCreator = create_nothing
    audit_keep_months: int = 0
    """Whole months of the audit log that are kept at most; 0 keeps everything."""
    audit_exports: AuditExports = field(default_factory=AuditExports)
    verification_turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One verification of a chain at a time: each keeps the processor busy."""

    @property
    def audit_retention(self) -> AuditRetentionStore:
        """How long the audit log is kept."""
        return AuditRetentionStore(self.console, self.audit_keep_months)


async def _get_dependencies(request: Request) -> AdminDependencies:
    return request.app.state.admin


async def _get_console_database(request: Request) -> Database:
    return request.app.state.admin.console


AdminDeps = Annotated[AdminDependencies, Depends(_get_dependencies)]
ConsoleDatabase = Annotated[Database, Depends(_get_console_database)]
