"""The operator's ways to change the vault's keys while everything runs. Each may be killed and run again."""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from uuid import UUID

from broker.authorization_server.signing_key_store import SigningKeyRows
from broker.identity.peppers import forget_lost_peppers
from broker.vault.deployment_settings import DeploymentSettingRows
from broker.vault.envelope import KeyProvider
from broker.vault.key_checks import check_keys, retire_key
from broker.vault.key_rewrap import DataKeyRows, Report, rewrap_keys
from broker.vault.key_wrapping import activate_key, add_key, remove_key
from broker.vault.reencryption import Reencryption, ReencryptionResult
from broker.vault.vault import open_vault
from core.audit import digest_key_check
from core.audit.event import DEPLOYMENT_CHAIN, AuditEventKind
from core.config.settings import Settings
from core.db import Database
from core.directory.audit_trail import Actor, audit_change
from core.directory.tenants import list_tenants
from core.errors import Conflict, Invalid
from core.migrations import migrate
from server.data_folder import attach_database
from server.deployment import Deployment
from server.role_database import BROKER_ROLE, get_utc_now, open_role_database
from server.vault_keys import get_key_file_path, open_key_provider

FILE_PROVIDER = "file"


@dataclass(frozen=True, slots=True)
class RewrapResult:
    """Which key wraps everything now, and what had to be changed for it. `signing_keys` counts secrets of the
    deployment's settings too."""

    kek_id: str
    data_keys: int
    signing_keys: int


class KeyRotation:
    """The keys of one deployment, in the operator's hands."""

    def __init__(
        self, deployment: Deployment, console: Database, broker: Database, keys: KeyProvider, actor: Actor
    ) -> None:
        self._deployment = deployment
        self._console = console
        self._broker = broker
        self._keys = keys
        self._actor = actor

    async def add(self) -> str:
        """Make one more key in the file, which is not active yet: its id.

        Raises:
            Invalid: no key is kept in a file.
        """
        self._require_file_provider("a key service creates its keys itself: name the new one in MCPIST_KEYS")
        kek_id = add_key(get_key_file_path(self._deployment))
        await self._record(AuditEventKind.KEY_CREATED, kek_id, "add")
        return kek_id

    async def activate(self, kek_id: str) -> None:
        """Wrap with a key of the file from now on; processes on this machine know at once.

        Raises:
            Conflict: a key service's key is active, by MCPIST_KEYS.
            Invalid: it is not the key of that id that was used before.
            core.errors.NotFound: the file has no such key.
        """
        self._require_file_provider(
            "the first key of MCPIST_KEYS is the active one: change its order, and restart MCPist"
        )
        if self._deployment.key_providers.names[0] != FILE_PROVIDER:
            raise Conflict("a key service's key is active: put `file` first in MCPIST_KEYS, and restart MCPist")
        await check_keys(self._broker, self._keys)
        activate_key(get_key_file_path(self._deployment), kek_id)
        await self._record(AuditEventKind.KEY_ROTATED, kek_id, "activate")

    async def rewrap(self, report: Report) -> RewrapResult:
        """Wrap all data keys and signing keys under the active key.

        Raises:
            Invalid: a key is missing, wrong or retired.
            core.errors.Unavailable: a key or the database is away; run it again.
            broker.vault.envelope.DecryptionError: a wrapped key was changed in the database.
        """
        await check_keys(self._broker, self._keys)
        active, deployment_id = await self._keys.get_active_id(), await self._fetch_deployment_id()
        await self._record(AuditEventKind.KEY_ROTATED, active, "rewrap")
        rewrapped, signing = 0, 0

        def count() -> None:
            nonlocal rewrapped
            rewrapped += 1
            report(f"Rewrapping keys: {rewrapped}")

        for tenant in await list_tenants(self._console):
            await rewrap_keys(self._broker, self._keys, DataKeyRows(deployment_id, tenant.id), count)
        data_keys = rewrapped
        for rows in (SigningKeyRows(deployment_id), DeploymentSettingRows(deployment_id)):
            signing += await rewrap_keys(self._broker, self._keys, rows, count)
        return RewrapResult(active, data_keys, signing)

    async def reencrypt(self, report: Report, *, fresh: bool) -> ReencryptionResult:
        """Seal all secrets of all tenants under data keys that were born under the active key; with `fresh` under new
        ones in any case.

        Raises:
            Invalid: a key is missing, wrong or retired.
            core.errors.Unavailable: a key or the database is away; run it again.
        """
        vault = await open_vault(self._broker, self._keys, clock=get_utc_now)
        active = await self._keys.get_active_id()
        await self._record(AuditEventKind.KEY_ROTATED, active, "reencrypt")
        total = ReencryptionResult()
        tenants = await list_tenants(self._console)
        for number, tenant in enumerate(tenants, start=1):
            progress = f"Re-encrypting secrets: tenant {number} of {len(tenants)}"
            report(progress)
            reencrypted = 0

            def count(secrets: int, progress: str = progress) -> None:
                nonlocal reencrypted
                reencrypted += secrets
                report(f"{progress}, {reencrypted} secrets")

            run = Reencryption(self._broker, vault, self._keys, count)
            total.add(await run.reencrypt_tenant(tenant.id, fresh=fresh))
        return total

    async def retire(self, kek_id: str) -> bool:
        """Retire a key that nothing uses; return whether it was removed from the key file.

        Raises:
            Conflict: it is active, or in use.
            core.errors.NotFound: there is no such key.
        """
        await retire_key(self._broker, self._keys, self._actor, kek_id, get_utc_now())
        path = get_key_file_path(self._deployment)
        return path.exists() and remove_key(path, kek_id)

    def _require_file_provider(self, advice: str) -> None:
        if FILE_PROVIDER not in self._deployment.key_providers.names:
            raise Invalid(f"MCPIST_KEYS names no file: {advice}")

    async def _fetch_deployment_id(self) -> UUID:
        return await self._broker.call("SELECT id FROM core.deployment")

    async def _record(self, kind: AuditEventKind, kek_id: str, step: str) -> None:
        async with self._broker.tenant(DEPLOYMENT_CHAIN) as work:
            await audit_change(work, self._actor, kind, purpose="vault", key=kek_id, step=step)


async def forget_peppers(settings: Settings, report: Report, actor: Actor) -> list[str]:
    """Forget the token peppers that their file lacks, which keep MCPist from starting; return their ids.

    Raises:
        Invalid: the file can be read by others, or is damaged.
    """
    async with attach_database(settings, report) as deployment:
        await migrate(deployment.admin, deployment.passwords, upgrade=False)
        async with open_role_database(deployment, BROKER_ROLE, max_connections=2) as broker:
            return await forget_lost_peppers(broker, deployment.peppers, actor)


async def forget_digest_key(settings: Settings, report: Report, actor: Actor) -> None:
    """Forget which key the argument digests were made with, which keeps MCPist from starting with another one."""
    async with attach_database(settings, report) as deployment:
        await migrate(deployment.admin, deployment.passwords, upgrade=False)
        async with open_role_database(deployment, BROKER_ROLE, max_connections=2) as broker:
            await digest_key_check.forget_digest_key(broker)
            async with broker.tenant(DEPLOYMENT_CHAIN) as work:
                await audit_change(work, actor, AuditEventKind.KEY_RETIRED, purpose="digests")


@contextlib.asynccontextmanager
async def open_key_rotation(deployment: Deployment, console: Database, actor: Actor) -> AsyncGenerator[KeyRotation]:
    """Open the rotation of the vault's keys.

    Raises:
        Invalid: the key file can be read by others, or is damaged.
    """
    async with (
        open_key_provider(deployment) as keys,
        open_role_database(deployment, BROKER_ROLE, max_connections=2) as broker,
    ):
        yield KeyRotation(deployment, console, broker, keys, actor)
