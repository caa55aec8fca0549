"""What an operator does with the stored credentials of one module in one tenant: store and test them."""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from uuid import UUID, uuid4

from broker.connect.disconnecting import Disconnecting
from broker.connect.pasted_keys import Pasted
from broker.connect.provider_book import ProviderBook
from broker.providers.catalogue import own_providers
from broker.providers.model import Provider
from broker.vault.credentials import REJECTED, UNREADABLE, Credentials
from broker.vault.envelope import Unreadable
from broker.vault.owners import Owner
from broker.vault.stored_credentials import StoredCredential
from broker.web.key_refusals import key_refusal, key_refusal_text
from core.credential_headers import BEARER, CredentialScheme, Unsendable, with_user
from core.directory.actor import Actor
from core.directory.services import list_services
from core.errors import Conflict, Forbidden, Invalid, MCPistError, NotFound, Unavailable
from core.outbound.origins import origin_of
from core.secret import Secret
from core.settings import Settings
from gateway.service_settings import parsed
from gateway.single.bootstrap import OPERATOR
from gateway.single.disconnecting import opened_ends
from gateway.single.gateway import vendor_sessions
from gateway.single.operator import Operator
from gateway.single.vendor_account import GivenCredential, account_of, place_of, trouble_of
from gateway.vendor_session.session import VendorSessions
from modules.kit import Module, ToolError, VendorApi, VendorProblem, VendorSettings


@dataclass(frozen=True, slots=True)
class Stored:
    """A credential that was just stored. `before` is what it took the place of; `account` is "" if not tested.

    `service_on` is whether the tenant has the module switched on.
    """

    account: str
    before: StoredCredential | None
    service_on: bool


@dataclass(frozen=True, slots=True)
class Tested:
    """What a vendor said of a stored credential. `told` is for a person; `state` is as it is stored from now on."""

    kind: str
    owner: str
    works: bool
    account: str
    state: str
    told: str


@dataclass(frozen=True, slots=True)
class Accounts:
    """The credentials of one tenant's module. `settings` are those of the tenant's service, which may be off; `keyed`
    are the providers whose keys serve it."""

    tenant_id: UUID
    module: Module
    api: VendorApi
    settings: VendorSettings
    service_on: bool
    keyed: tuple[Provider, ...]
    credentials: Credentials
    disconnecting: Disconnecting
    sessions: VendorSessions
    actor: Actor

    async def put(self, owner: Owner, pasted: Pasted, *, test: bool, replace_account: bool) -> Stored:
        """Store a secret, after the vendor has told whose account it belongs to if `test`.

        Raises:
            NotFound: there is no such provider of keys for the module.
            Conflict: it belongs to another account than the one before, and `replace_account` is not said.
            core.errors.MCPistError: the vendor does not accept it or cannot be asked; nothing was stored.
        """
        scheme = self._scheme(pasted.provider)
        secret = _whole(self.module.title, scheme, pasted)
        before = await self._find(owner)
        name, origins = self.module.name, place_of(self.api, self.settings)
        account = await self._account(GivenCredential(secret, scheme, origins)) if test else ""
        if before and before.account and account not in ("", before.account) and not replace_account:
            raise Conflict(
                f"this secret belongs to the account {account}, the stored one to {before.account}; "
                "add --replace-account if that is meant. Nothing was stored"
            )
        over = before.version if before else None
        if before and before.type == "B":
            await self.disconnecting.disconnect_module(self.actor, self.tenant_id, name, owner)
            over = None
        await self.credentials.put(
            self.actor, self.tenant_id, name, owner, secret, account, over=over, origins=origins, scheme=scheme
        )
        return Stored(account, before, self.service_on)

    async def test(self, stored: StoredCredential) -> Tested:
        """Ask the vendor about a stored credential, and keep its state true.

        One that the vendor refuses (401) becomes broken at once, unlike after a call's 401, which is asked about again
        (docs/decisions/0030): whoever tests it wants the vendor's word. One that was broken, or never
        asked for its account, and is accepted is stored anew, so that it is used again. Whatever else fails changes
        nothing. An account that was connected by OAuth is looked after by itself, and is only told about.
        """
        if stored.type == "B":
            told = "connected by OAuth" if stored.state == "ok" else f"to be connected again: {stored.cause}"
            return self._tested(stored, stored.state, stored.state == "ok", told)
        try:
            secret = await self.credentials.secret(self.tenant_id, self.module.name, await self._owner(stored))
        except Unreadable:
            return await self._broken(stored, UNREADABLE, "it was changed in the database and cannot be read any more")
        try:
            origins = stored.origins or (origin_of(self.api.base_url),)
            account = await self._asked(GivenCredential(secret, stored.scheme, origins), str(stored.id))
        except ToolError as problem:
            if isinstance(problem, VendorProblem) and problem.kind == "unauthorized":
                told = "the vendor does not accept it any more: it was revoked or has expired there"
                return await self._broken(stored, REJECTED, told)
            told = key_refusal_text(trouble_of(problem), self.module.title)
            return self._tested(stored, stored.state, False, f"not known, and nothing changed: {told}")
        return await self._works(stored, secret, account)

    async def _works(self, stored: StoredCredential, secret: Secret, account: str) -> Tested:
        told = "it works"
        if account != stored.account and stored.account:
            told += f", but its account is now {account or 'without a name'}, and was {stored.account}"
        if stored.state == "broken" or (account and not stored.account):
            owner, account = await self._owner(stored), account or stored.account
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
        return self._tested(stored, "ok", True, told, account)

    async def _broken(self, stored: StoredCredential, cause: str, told: str) -> Tested:
        await self.credentials.mark_broken(self.tenant_id, stored.id, stored.version, cause)
        return self._tested(stored, "broken", False, f"broken: {told}; store a new one")

    def _tested(self, stored: StoredCredential, state: str, works: bool, told: str, account: str = "") -> Tested:
        return Tested(stored.kind, stored.owner, works, account or stored.account, state, told)

    def _scheme(self, provider: str) -> CredentialScheme:
        """How keys of the module are sent: as the provider's data say."""
        for one in self.keyed:
            if one.key is not None and provider in ("", one.id):
                return one.key.sent
        if provider:
            raise NotFound(f"there is no provider {provider[:40]!r} whose keys serve {self.module.name}")
        return BEARER

    async def _account(self, credential: GivenCredential) -> str:
        try:
            return await self._asked(credential, str(uuid4()))
        except ToolError as problem:
            raise _refused(self.module.title, problem) from None

    async def _asked(self, credential: GivenCredential, key: str) -> str:
        self.disconnecting.check_original()
        return await account_of(self.sessions, self.api, self.settings, credential, key)

    async def _find(self, owner: Owner) -> StoredCredential | None:
        found = await self.credentials.list(self.tenant_id, self.module.name, owner)
        return found[0] if found else None

    async def _owner(self, stored: StoredCredential) -> Owner:
        if stored.kind == "personal":
            return await self.credentials.owner(self.tenant_id, email=stored.owner)
        return await self.credentials.owner(self.tenant_id, role=stored.owner)


@contextlib.asynccontextmanager
async def opened_accounts(
    operating: Operator, settings: Settings, tenant_id: UUID, module: Module
) -> AsyncGenerator[Accounts]:
    """The accounts of a module that has a vendor, with the vault and the way to the vendor open.

    Raises:
        core.errors.Invalid: the service's settings or the vault's keys are not right; the text names which.
    """
    api = module.vendor
    assert api is not None, "the caller has looked"
    services = await list_services(operating.console, tenant_id)
    service = next((one for one in services if one.module == module.name), None)
    stored = parsed(api.settings, service.settings if service else {})
    async with opened_ends(operating.deployment, settings, sealing=True) as ends, vendor_sessions(settings) as sessions:
        on = service is not None and service.enabled
        async with ends.database.tenant(tenant_id) as work:
            providers = (await ProviderBook(own_providers()).all(work)).known.values()
        keyed = tuple(one for one in providers if one.key is not None and module.name in one.modules)
        yield Accounts(
            tenant_id, module, api, stored, on, keyed, ends.credentials, ends.disconnecting, sessions, OPERATOR
        )


def _whole(title: str, scheme: CredentialScheme, pasted: Pasted) -> Secret:
    """The secret as it is stored, once it has the form of its scheme."""
    try:
        return with_user(scheme, pasted.secret, pasted.user)
    except Unsendable as wrong:
        if wrong.part == "secret":
            raise key_refusal("form", title) from None
        if scheme.kind == "basic_pair":
            text = f"{title} wants a user name or e-mail address beside the key, without a colon: --key-user NAME"
            raise Invalid(text) from None
        raise Invalid(f"{title} wants no user name beside the key: leave out --key-user") from None


def _refused(title: str, problem: ToolError) -> MCPistError:
    """Why a secret that was to be stored was not; without the vendor's word it may be stored all the same."""
    error = key_refusal(trouble_of(problem), title)
    if isinstance(error, Forbidden | Unavailable):
        return type(error)(f"{error}; --no-test stores it without asking the vendor")
    return error
