"""Test of a stored key against its vendor, by the harmless request that the module's manifest names."""

import contextlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from uuid import UUID

from broker.connections.api_keys import CHECK_BURST, CHECKS_PER_SECOND, MAX_RUNNING_CHECKS, KeyProblem, get_key_problem
from broker.connections.credential_origins import load_service_url
from broker.connections.stored_credentials import StoredCredential, find_credential
from broker.oauth_client.module_account import ModuleAccountClient
from broker.oauth_client.types import VendorFailure
from broker.oauth_client.userinfo import AccountIdentity
from broker.vault.credential_store import REJECTED, UNREADABLE, CredentialStore
from broker.vault.envelope import DecryptionError
from broker.vault.origin_policy import ORIGIN_CHANGED, OriginPolicy
from core.concurrency.rate_limits import CallerLimits
from core.db import Database
from core.directory.audit_trail import Actor
from core.errors import NotFound
from core.http.origins import get_origin
from core.module_manifest import ModuleManifest
from core.secret import Secret


@dataclass(frozen=True, slots=True)
class CredentialCheckResult:
    """Result of a test. `problem` says why it is not known whether the credential works, "" where it is known."""

    works: bool
    broken: bool
    account: str
    message: str
    problem: KeyProblem | None = None


class CredentialChecker:
    """Tests stored keys of all tenants, and keeps their state true.

    A key that the vendor does not take becomes broken at once, unlike after a call's 401, which is asked about again
    (docs/decisions/0030): whoever tests it wants the vendor's word. A broken one that the vendor accepts is used again.
    Any other failure changes nothing. An account that was connected by OAuth is refreshed by itself: no vendor is
    asked.
    """

    def __init__(
        self,
        database: Database,
        credentials: CredentialStore,
        accounts: ModuleAccountClient,
        modules: Iterable[ModuleManifest],
        require_adopted: Callable[[], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._credentials = credentials
        self._accounts = accounts
        self._modules = {module.name: module for module in modules}
        self._origins = OriginPolicy({module.name: module.base_url for module in self._modules.values()})
        self._require_adopted = require_adopted
        self._limits = CallerLimits(CHECKS_PER_SECOND, CHECK_BURST, MAX_RUNNING_CHECKS, clock=clock)

    async def check(self, actor: Actor, tenant_id: UUID, caller: str, credential_id: UUID) -> CredentialCheckResult:
        """Ask the vendor whether a stored key works. `caller` is whose limit of checks counts; the operator has none.

        Raises:
            NotFound: there is no such credential, or its module is not installed.
            core.errors.LimitReached: the caller has had too many keys checked.
            broker.vault.vault.NotAdopted: this is a copy of the deployment, which asks no vendor.
        """
        async with self._database.tenant(tenant_id) as work:
            stored = await find_credential(work, self._origins, credential_id)
        if stored.type == "oauth":
            message = f"to be connected again: {stored.message}" if stored.broken else "connected by OAuth"
            return CredentialCheckResult(not stored.broken, stored.broken, stored.account, message)
        if stored.cause == ORIGIN_CHANGED:
            return CredentialCheckResult(False, True, stored.account, f"broken: {stored.message}")
        module = self._modules.get(stored.module)
        if module is None:
            raise NotFound(f"the module {stored.module} is not installed")
        self._require_adopted()
        try:
            secret = await self._credentials.get_secret(tenant_id, stored.module, stored.holder)
        except DecryptionError:
            message = "it was changed in the database and cannot be read any more"
            return await self._record_broken(tenant_id, stored, UNREADABLE, message)
        verdict = await self._ask(tenant_id, None if actor.user_id is None else caller, module, stored, secret)
        if isinstance(verdict, AccountIdentity):
            return await self._record_working(actor, tenant_id, stored, secret, verdict.name or verdict.id)
        if module.is_rejection(verdict.status):
            message = "the vendor does not accept it any more: it was revoked or has expired there"
            return await self._record_broken(tenant_id, stored, REJECTED, message)
        return CredentialCheckResult(False, stored.broken, stored.account, "", get_key_problem(verdict))

    async def _ask(
        self, tenant_id: UUID, caller: str | None, module: ModuleManifest, stored: StoredCredential, secret: Secret
    ) -> AccountIdentity | VendorFailure:
        async with self._database.tenant(tenant_id) as work:
            url = await load_service_url(work, module)
        origins = stored.origins or (get_origin(module.base_url),)
        with contextlib.nullcontext() if caller is None else self._limits.track(f"{tenant_id}:{caller}"):
            return await self._accounts.fetch_account(module, url, stored.scheme, secret, origins, {})

    async def _record_working(
        self,
        actor: Actor,
        tenant_id: UUID,
        stored: StoredCredential,
        secret: Secret,
        account: str,
    ) -> CredentialCheckResult:
        message = "it works"
        if stored.account not in ("", account):
            message += f", but its account is now {account or 'without a name'}, and was {stored.account}"
        if stored.broken or (account and not stored.account):
            account = account or stored.account
            await self._credentials.put(
                actor,
                tenant_id,
                stored.module,
                stored.holder,
                secret,
                account,
                over=stored.version,
                origins=stored.origins,
                scheme=stored.scheme,
            )
        await self._credentials.note_accepted(tenant_id, stored.id, stored.version)
        if stored.broken:
            message += "; it was marked broken, and is used again from now on"
        return CredentialCheckResult(True, False, account or stored.account, message)

    async def _record_broken(
        self, tenant_id: UUID, stored: StoredCredential, cause: str, message: str
    ) -> CredentialCheckResult:
        await self._credentials.mark_broken(tenant_id, stored.id, stored.version, cause)
        return CredentialCheckResult(False, True, stored.account, f"broken: {message}; store a new one")
