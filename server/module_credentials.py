"""Stored credentials of one module in one tenant, as an operator stores and tests them."""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from uuid import UUID, uuid4

from broker.connections.api_keys import PastedKey
from broker.disconnect.disconnect_service import DisconnectService
from broker.providers.catalogue import ProviderRegistry, load_builtin_providers
from broker.providers.schema import Provider
from broker.vault.credential_store import REJECTED, UNREADABLE, CredentialStore
from broker.vault.envelope import DecryptionError
from broker.vault.stored_credentials import CredentialOwner, StoredCredential
from broker.web.key_errors import build_key_error, render_key_error
from core.config.settings import Settings
from core.directory.audit_trail import Actor
from core.directory.services import list_services
from core.errors import Conflict, Forbidden, Invalid, MCPistError, NotFound, Unavailable
from core.http.credential_headers import BEARER, CredentialScheme, InvalidCredentialForm, join_user
from core.http.origins import get_origin
from core.secret import Secret
from gateway.service_settings import parse_settings
from gateway.vendor_session.client_factory import VendorClientFactory
from modules.kit import Module, ToolError, VendorApi, VendorProblem, VendorSettings
from server.bootstrap import OPERATOR_ACTOR
from server.operator_context import OperatorContext
from server.vendor_account_lookup import (
    UnleasedCredential,
    classify_key_trouble,
    fetch_vendor_account,
    get_key_origins,
)
from server.wiring.disconnect import open_disconnect_services
from server.wiring.gateway import open_vendor_sessions


@dataclass(frozen=True, slots=True)
class CredentialStoreResult:
    """A credential that was just stored. `before` is what it took the place of; `account` is "" if not tested.

    `is_service_enabled` is whether the tenant has the module switched on.
    """

    account: str
    previous: StoredCredential | None
    is_service_enabled: bool


@dataclass(frozen=True, slots=True)
class CredentialTestResult:
    """What a vendor said of a stored credential. `told` is for a person; `state` is as it is stored from now on."""

    kind: str
    owner: str
    works: bool
    account: str
    state: str
    told: str


@dataclass(frozen=True, slots=True)
class ModuleCredentials:
    """The credentials of one tenant's module. `settings` are those of the tenant's service, which may be off; `keyed`
    are the providers whose keys serve it."""

    tenant_id: UUID
    module: Module
    api: VendorApi
    settings: VendorSettings
    is_service_enabled: bool
    key_providers: tuple[Provider, ...]
    credentials: CredentialStore
    disconnect_service: DisconnectService
    sessions: VendorClientFactory
    actor: Actor

    async def put(
        self, owner: CredentialOwner, pasted: PastedKey, *, test: bool, replace_account: bool
    ) -> CredentialStoreResult:
        """Store a secret, after the vendor has told whose account it belongs to if `test`.

        Raises:
            NotFound: there is no such provider of keys for the module.
            Conflict: it belongs to another account than the one before, and `replace_account` is not said.
            core.errors.MCPistError: the vendor does not accept it or cannot be asked; nothing was stored.
        """
        scheme = self._find_scheme(pasted.provider)
        secret = _build_secret(self.module.title, scheme, pasted)
        before = await self._find_stored(owner)
        name, origins = self.module.name, get_key_origins(self.api, self.settings)
        account = await self._fetch_account(UnleasedCredential(secret, scheme, origins)) if test else ""
        if before and before.account and account not in ("", before.account) and not replace_account:
            raise Conflict(
                f"this secret belongs to the account {account}, the stored one to {before.account}; "
                "add --replace-account if that is meant. Nothing was stored"
            )
        over = before.version if before else None
        if before and before.type == "oauth":
            await self.disconnect_service.disconnect_module(self.actor, self.tenant_id, name, owner)
            over = None
        await self.credentials.put(
            self.actor, self.tenant_id, name, owner, secret, account, over=over, origins=origins, scheme=scheme
        )
        return CredentialStoreResult(account, before, self.is_service_enabled)

    async def test(self, stored: StoredCredential) -> CredentialTestResult:
        """Ask the vendor about a stored credential, and keep its state true.

        One that the vendor refuses (401) becomes broken at once, unlike after a call's 401, which is asked about again
        (docs/decisions/0030): whoever tests it wants the vendor's word. One that was broken, or never
        asked for its account, and is accepted is stored anew, so that it is used again. Whatever else fails changes
        nothing. An account that was connected by OAuth is looked after by itself, and is only told about.
        """
        if stored.type == "oauth":
            told = "connected by OAuth" if stored.state == "ok" else f"to be connected again: {stored.cause}"
            return self._build_test_result(stored, stored.state, stored.state == "ok", told)
        try:
            secret = await self.credentials.get_secret(
                self.tenant_id, self.module.name, await self._resolve_owner(stored)
            )
        except DecryptionError:
            return await self._record_broken(
                stored, UNREADABLE, "it was changed in the database and cannot be read any more"
            )
        try:
            origins = stored.origins or (get_origin(self.api.base_url),)
            account = await self._ask_vendor(UnleasedCredential(secret, stored.scheme, origins), str(stored.id))
        except ToolError as problem:
            if isinstance(problem, VendorProblem) and problem.kind == "unauthorized":
                told = "the vendor does not accept it any more: it was revoked or has expired there"
                return await self._record_broken(stored, REJECTED, told)
            told = render_key_error(classify_key_trouble(problem), self.module.title)
            return self._build_test_result(stored, stored.state, False, f"not known, and nothing changed: {told}")
        return await self._record_working(stored, secret, account)

    async def _record_working(self, stored: StoredCredential, secret: Secret, account: str) -> CredentialTestResult:
        told = "it works"
        if account != stored.account and stored.account:
            told += f", but its account is now {account or 'without a name'}, and was {stored.account}"
        if stored.state == "broken" or (account and not stored.account):
            owner, account = await self._resolve_owner(stored), account or stored.account
            await self.credentials.put(
                self.actor,
                self.tenant_id,
                self.module.name,
                owner,
                secret,
                account,
                over=stored.version,
                origins=stored.origins,
                scheme=stored.scheme,
            )
        await self.credentials.note_accepted(self.tenant_id, stored.id, stored.version)
        if stored.state == "broken":
            told += "; it was marked broken, and is used again from now on"
        return self._build_test_result(stored, "ok", True, told, account)

    async def _record_broken(self, stored: StoredCredential, cause: str, told: str) -> CredentialTestResult:
        await self.credentials.mark_broken(self.tenant_id, stored.id, stored.version, cause)
        return self._build_test_result(stored, "broken", False, f"broken: {told}; store a new one")

    def _build_test_result(
        self, stored: StoredCredential, state: str, works: bool, told: str, account: str = ""
    ) -> CredentialTestResult:
        return CredentialTestResult(stored.kind, stored.owner, works, account or stored.account, state, told)

    def _find_scheme(self, provider: str) -> CredentialScheme:
        """How keys of the module are sent: as the provider's data say."""
        for one in self.key_providers:
            if one.key is not None and provider in ("", one.id):
                return one.key.credential_scheme
        if provider:
            raise NotFound(f"there is no provider {provider[:40]!r} whose keys serve {self.module.name}")
        return BEARER

    async def _fetch_account(self, credential: UnleasedCredential) -> str:
        try:
            return await self._ask_vendor(credential, str(uuid4()))
        except ToolError as problem:
            raise _build_key_error(self.module.title, problem) from None

    async def _ask_vendor(self, credential: UnleasedCredential, key: str) -> str:
        self.disconnect_service.require_adopted()
        return await fetch_vendor_account(self.sessions, self.api, self.settings, credential, key)

    async def _find_stored(self, owner: CredentialOwner) -> StoredCredential | None:
        found = await self.credentials.list(self.tenant_id, self.module.name, owner)
        return found[0] if found else None

    async def _resolve_owner(self, stored: StoredCredential) -> CredentialOwner:
        if stored.kind == "personal":
            return await self.credentials.resolve_owner(self.tenant_id, email=stored.owner)
        return await self.credentials.resolve_owner(self.tenant_id, role=stored.owner)


@contextlib.asynccontextmanager
async def open_module_credentials(
    operating: OperatorContext, settings: Settings, tenant_id: UUID, module: Module
) -> AsyncGenerator[ModuleCredentials]:
    """The accounts of a module that has a vendor, with the vault and the way to the vendor open.

    Raises:
        core.errors.Invalid: the service's settings or the vault's keys are not right; the text names which.
    """
    api = module.vendor
    assert api is not None, "the caller has looked"
    services = await list_services(operating.console, tenant_id)
    service = next((one for one in services if one.module == module.name), None)
    stored = parse_settings(api.settings, service.settings if service else {})
    async with (
        open_disconnect_services(operating.deployment, settings, sealing=True) as ends,
        open_vendor_sessions(settings) as sessions,
    ):
        on = service is not None and service.enabled
        async with ends.database.tenant(tenant_id) as work:
            providers = (await ProviderRegistry(load_builtin_providers()).load_all(work)).known.values()
        keyed = tuple(one for one in providers if one.key is not None and module.name in one.modules)
        yield ModuleCredentials(
            tenant_id,
            module,
            api,
            stored,
            on,
            keyed,
            ends.credentials,
            ends.disconnect_service,
            sessions,
            OPERATOR_ACTOR,
        )


def _build_secret(title: str, scheme: CredentialScheme, pasted: PastedKey) -> Secret:
    """The secret as it is stored, once it has the form of its scheme."""
    try:
        return join_user(scheme, pasted.secret, pasted.user)
    except InvalidCredentialForm as wrong:
        if wrong.part == "secret":
            raise build_key_error("form", title) from None
        if scheme.kind == "basic_pair":
            text = f"{title} wants a user name or e-mail address beside the key, without a colon: --key-user NAME"
            raise Invalid(text) from None
        raise Invalid(f"{title} wants no user name beside the key: leave out --key-user") from None


def _build_key_error(title: str, problem: ToolError) -> MCPistError:
    """Why a secret that was to be stored was not; without the vendor's word it may be stored all the same."""
    error = build_key_error(classify_key_trouble(problem), title)
    if isinstance(error, Forbidden | Unavailable):
        return type(error)(f"{error}; --no-test stores it without asking the vendor")
    return error
