"""Connecting by a key that a person has copied at the vendor: asked for whose it is, then stored (type A)."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args
from uuid import UUID

from broker.connections.available_services import AvailableServices, ConnectSubject, resolve_subject
from broker.connections.connect_methods import ConnectError, ConnectPrincipal
from broker.connections.credential_origins import KeyOrigins, load_service_url, resolve_key_origins
from broker.connections.stored_credentials import StoredCredential
from broker.disconnect.disconnect_service import DisconnectService
from broker.oauth_client.module_account import ModuleAccountClient
from broker.oauth_client.types import ErrorClass, VendorFailure
from broker.oauth_client.userinfo import AccountIdentity, UserinfoClient
from broker.providers.error_reasons import ADDRESS, URL_REFUSED
from broker.providers.schema import Provider
from broker.vault.credential_store import CredentialStore
from core.concurrency.rate_limits import CallerLimits
from core.db import Database
from core.errors import Invalid, LimitReached, NotFound
from core.http.credential_headers import CredentialScheme, InvalidCredentialForm, join_user
from core.module_manifest import ModuleManifest
from core.secret import Secret

KeyProblem = Literal["form", "user", "not_accepted", "forbidden", "busy", "away", "setup", "often"]
PROBLEMS_BY_ERROR_CLASS: Mapping[ErrorClass, KeyProblem] = {
    ErrorClass.PERMANENT: "not_accepted",
    ErrorClass.SERVICE: "setup",
    ErrorClass.THROTTLED: "busy",
}
PROBLEMS_BY_MESSAGE_KEY: Mapping[str, KeyProblem] = {f"key_{trouble}": trouble for trouble in get_args(KeyProblem)}
"""By the key of :class:`broker.connections.connect_methods.ConnectError`."""
CHECKS_PER_SECOND, CHECK_BURST, MAX_RUNNING_CHECKS = 1 / 30, 10, 2
"""How often one person may have a key checked: a vendor that answers is an oracle for whoever has found one."""


class KeyRefused(Exception):
    """The vendor does not take a key, or cannot be asked."""

    def __init__(self, trouble: KeyProblem) -> None:
        super().__init__(trouble)
        self.trouble: KeyProblem = trouble


@dataclass(frozen=True, slots=True)
class PastedKey:
    """What a person has pasted: a key, the user name that belongs to it where the vendor wants both, and which
    provider's it is; without one the first that takes keys for the service."""

    secret: Secret
    user: str = ""
    provider: str = ""


class OtherAccount(Exception):
    """The key is of another account than what is there; the person has to say that this is meant."""

    def __init__(self, before: str, now: str) -> None:
        super().__init__()
        self.before = before
        self.now = now


class VendorApiKeys:
    """Keys, of all tenants."""

    def __init__(
        self,
        database: Database,
        services: AvailableServices,
        credentials: CredentialStore,
        disconnecting: DisconnectService,
        vendor: UserinfoClient,
        accounts: ModuleAccountClient,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._services = services
        self._credentials = credentials
        self._disconnecting = disconnecting
        self._vendor = vendor
        self._accounts = accounts
        self._limits = CallerLimits(CHECKS_PER_SECOND, CHECK_BURST, MAX_RUNNING_CHECKS, clock=clock)

    async def connect(
        self,
        session: ConnectPrincipal,
        module: str,
        role_id: UUID | None,
        pasted: PastedKey,
        *,
        replace: bool = False,
        check: bool = True,
    ) -> str:
        """Store a key after the vendor has told whose it is, unless it is not to be asked (`check`); the account's
        name.

        Raises:
            NotFound: there is no such module for the person, or it is not connected by keys.
            ConnectError: the vendor does not take the key, or cannot be asked.
            OtherAccount: it is another account's, and `replace` is not said.
            broker.vault.vault.NotAdopted: this is a copy of the deployment, which asks no vendor.
        """
        self._disconnecting.require_adopted()
        place = await self._load_target(session, module, role_id, pasted.provider)
        credential, title = place.held, place.module.title
        try:
            secret = _build_whole_secret(place.key_origins.scheme, pasted)
            name = await self._identify_account(session, place, secret) if check else ""
        except KeyRefused as refused:
            raise ConnectError(f"key_{refused.trouble}", title=title, module=module) from None
        if credential is not None and check and not replace and _may_be_other(credential, name):
            raise OtherAccount(credential.account, name)
        try:
            await self._store_key(session, module, place, secret, name)
        except Invalid:
            raise ConnectError("key_form", title=title, module=module) from None
        return name

    async def _load_target(
        self, session: ConnectPrincipal, module: str, role_id: UUID | None, provider: str
    ) -> "_KeyTarget":
        async with self._database.tenant(session.tenant_id) as work:
            whom = await resolve_subject(work, session, role_id)
            service = None if whom is None else await self._services.find_for_subject(work, whom, module)
            way = next((way for way in service.methods if way.accepts_key_of(provider)), None) if service else None
            if whom is None or service is None or way is None:
                raise NotFound("there is no such service for you")
            manifest = service.required_tools.module
            url = await load_service_url(work, manifest)
            bound = await resolve_key_origins(work, way.provider, way.client, manifest)
        return _KeyTarget(service.own, whom, manifest, url, bound)

    async def _identify_account(self, session: ConnectPrincipal, place: "_KeyTarget", secret: Secret) -> str:
        """Whose the key is. Every try is a question to the vendor, so nobody may ask without end."""
        try:
            leave = self._limits.enter(f"{session.tenant_id}:{session.user_id}")
        except LimitReached:
            raise KeyRefused("often") from None
        try:
            bound = place.key_origins
            if bound.provider is None:
                identity = await self._accounts.fetch_account(
                    place.module, place.service_url, bound.scheme, secret, bound.origins, {}
                )
            else:
                identity = await _check_by_provider(self._vendor, bound.provider, bound.settings, secret)
            return _get_account_name(identity)
        finally:
            leave()

    async def _store_key(
        self, session: ConnectPrincipal, module: str, place: "_KeyTarget", secret: Secret, name: str
    ) -> None:
        """An account that was connected by OAuth ends once the key is there, so that nobody is left with neither."""
        credential = place.held
        account_id = None if credential is None else credential.account_id
        over = None if credential is None or account_id is not None else credential.version
        await self._credentials.put(
            session.actor,
            session.tenant_id,
            module,
            place.whom.owner,
            secret,
            name,
            over=over,
            origins=place.key_origins.origins,
            scheme=place.key_origins.scheme,
            instead_of=account_id,
        )
        if account_id is not None:
            await self._disconnecting.end_if_unused(session.actor, session.tenant_id, account_id)


def _may_be_other(credential: StoredCredential, name: str) -> bool:
    """Whether a key may be of another account than what is there. A vendor that names nobody's keys is not asked about
    each of them; an account that was connected there is another thing."""
    return name != credential.account or (credential.type == "oauth" and not name)


@dataclass(frozen=True, slots=True)
class _KeyTarget:
    held: StoredCredential | None
    whom: ConnectSubject
    module: ModuleManifest
    service_url: str
    key_origins: KeyOrigins


def _build_whole_secret(scheme: CredentialScheme, pasted: PastedKey) -> Secret:
    """The key as it is stored, once it has the form of its scheme."""
    try:
        return join_user(scheme, pasted.secret, pasted.user)
    except InvalidCredentialForm as wrong:
        raise KeyRefused("user" if wrong.part == "user" else "form") from None


async def _check_by_provider(
    vendor: UserinfoClient, provider: Provider, settings: Mapping[str, str], secret: Secret
) -> AccountIdentity | VendorFailure:
    """Whose a key is, by the request that the provider's document names."""
    try:
        return await vendor.check_key(provider, settings, secret)
    except Invalid:
        raise KeyRefused("form") from None


def get_key_problem(failure: VendorFailure) -> KeyProblem:
    """Return the reason why a vendor has not named the account of a key."""
    # An address that may not be asked reads like one that does not answer: users are not told which.
    if failure.reason in (URL_REFUSED, ADDRESS):
        return "away"
    return "forbidden" if failure.status == 403 else PROBLEMS_BY_ERROR_CLASS.get(failure.error_class, "away")


def _get_account_name(identity: AccountIdentity | VendorFailure) -> str:
    if isinstance(identity, VendorFailure):
        raise KeyRefused(get_key_problem(identity))
    return identity.name or identity.id
