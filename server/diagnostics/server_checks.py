"""Information for the admin API from the server's parts: modules, keys, and findings of the checks."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any
from uuid import UUID

from core.config.settings import Settings
from core.db import Database
from core.directory.tenants import get_tenant
from gateway.catalogue import Catalogue
from server.deployment import Deployment
from server.diagnostics.deployment_checks import check_services, diagnose_deployment
from server.diagnostics.finding import Finding
from server.diagnostics.stream_checks import check_tenant_stream
from server.diagnostics.vault_checks import check_tenant_credentials, limit_credential_findings
from server.diagnostics.vault_key_report import inspect_vault_keys
from server.role_database import get_utc_now


class ServerChecks:
    """Implements :class:`admin_ui.api.deployment_checks.DeploymentChecks`.

    One check runs at a time: each takes database connections and asks the key providers.
    """

    def __init__(
        self, settings: Settings, deployment: Deployment, console: Database, broker: Database, catalogue: Catalogue
    ) -> None:
        self._settings = settings
        self._deployment = deployment
        self._console = console
        self._broker = broker
        self._catalogue = catalogue
        self._lock = asyncio.Lock()

    async def check_keys(self) -> Mapping[str, Any]:
        async with self._lock:
            return await describe_vault_keys(self._deployment, self._console)

    async def check_deployment(self) -> Sequence[Finding]:
        async with self._lock:
            return await diagnose_deployment(self._settings, self._deployment)

    async def check_tenant(self, tenant_id: UUID, user_id: UUID | None) -> Sequence[Finding]:
        tenant = await get_tenant(self._console, tenant_id)
        services = await check_services(self._console, tenant) if user_id is None else []
        url = self._settings.public_url
        credentials = await check_tenant_credentials(self._broker, self._console, tenant, self._catalogue, url, user_id)
        streams = [] if user_id is not None else await check_tenant_stream(self._broker, tenant, get_utc_now())
        return [*services, *streams, *limit_credential_findings(credentials)]


async def describe_vault_keys(deployment: Deployment, console: Database) -> Mapping[str, Any]:
    """Describe the vault's keys as the API shows them."""
    keys = await inspect_vault_keys(deployment, console)
    return {**asdict(keys), "healthy": keys.healthy, "file": str(keys.file)}
