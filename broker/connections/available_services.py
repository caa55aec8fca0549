"""Services that a user or a role can connect: methods, existing credentials, and roles that share one."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from broker.connect.client_registration import AutomaticClientRegistration
from broker.connections.connect_methods import (
    ConnectMethod,
    ConnectPrincipal,
    RequiredTools,
    find_required_tools,
    list_connect_methods,
)
from broker.connections.credential_origins import get_service_url, load_service_settings, load_service_url
from broker.connections.oauth_client_store import OAuthClientStore
from broker.connections.stored_credentials import StoredCredential, list_credentials, list_owner_credentials
from broker.oauth_client.vendor_scopes import find_missing_scopes
from broker.providers.catalogue import ProviderRegistry
from broker.providers.schema import Provider
from broker.user_policy import UserPolicy, load_user_policy
from broker.vault.credential_store import CredentialOwner
from broker.vault.origin_policy import OriginPolicy
from core.db import Database, UnitOfWork
from core.module_manifest import ModuleManifest, accepts_keys
from core.permissions import Role
from core.policy_loader import load_enabled_modules, load_roles

ADMINISTRATOR = "admin"
MAX_SHARED_SHOWN = 100


@dataclass(frozen=True, slots=True)
class ConnectSubject:
    """For whom an account is connected: a person by all their roles, or the members of one role by that alone."""

    owner: CredentialOwner
    roles: tuple[tuple[UUID, Role], ...]
    services: frozenset[str]

    @property
    def role_ids(self) -> list[UUID]:
        return [role_id for role_id, _ in self.roles]

    @property
    def shared_with(self) -> str:
        """The name of the role, "" for a person's own."""
        return self.roles[0][1].name if self.owner.role_id else ""


@dataclass(frozen=True, slots=True)
class AvailableService:
    """One module as it stands for somebody. `own` is the credential that would be replaced; `shared` are those of the
    person's roles, the highest first. `connectable` says that there is a way at all."""

    required_tools: RequiredTools
    own: StoredCredential | None
    shared: tuple[StoredCredential, ...]
    methods: tuple[ConnectMethod, ...] = ()
    missing_scopes: tuple[str, ...] = ()
    unregistered_providers: tuple[Provider, ...] = ()
    connectable: bool = True

    @property
    def effective(self) -> StoredCredential | None:
        """The credential that a call uses: one's own, else that of the highest role."""
        return self.own or next(iter(self.shared), None)


class AvailableServices:
    """Reads them, for the pages; `offered` are the modules that have vendors."""

    def __init__(
        self,
        database: Database,
        clients: OAuthClientStore,
        book: ProviderRegistry,
        offered: Sequence[ModuleManifest],
        introductions: AutomaticClientRegistration,
    ) -> None:
        self._database = database
        self._clients = clients
        self._book = book
        self._introductions = introductions
        self._offered = {module.name: module for module in offered}
        self._origins = OriginPolicy({module.name: module.base_url for module in offered})

    async def list_for_person(self, session: ConnectPrincipal) -> list[AvailableService]:
        """All that the person's roles give, by title; without the ways."""
        async with self._database.tenant(session.tenant_id) as work:
            whom = await load_person_subject(work, session.user_id)
            required = list(self._find_required_tools(whom).values())
            credentials = await self._list_credentials(
                work, [required_tools.module for required_tools in required], session.user_id, whom.role_ids
            )
            connectable = await self._find_connectable(work, whom, required)
        services = (_build_service(required_tools, whom, credentials) for required_tools in required)
        shown = (
            replace(service, connectable=service.required_tools.module.name in connectable) for service in services
        )
        return sorted(shown, key=lambda required_tools: required_tools.required_tools.module.title)

    async def find_connectable(self, work: UnitOfWork, user_id: UUID) -> frozenset[str]:
        """Find those of a user's modules that there is a way to connect at all."""
        whom = await load_person_subject(work, user_id)
        return await self._find_connectable(work, whom, self._find_required_tools(whom).values())

    async def find_with_subject(
        self, session: ConnectPrincipal, module: str, role_id: UUID | None
    ) -> tuple[AvailableService, ConnectSubject] | None:
        """One module for the person, or for a role that they may share it with; None where it does not exist for
        them."""
        async with self._database.tenant(session.tenant_id) as work:
            whom = await resolve_subject(work, session, role_id)
            if whom is None:
                return None
            service = await self.find_for_subject(work, whom, module)
            return None if service is None else (service, whom)

    def is_available(self, whom: ConnectSubject, module: str) -> bool:
        """Check whether `module` exists for them: its service is enabled and a role permits one of its tools."""
        return module in self._find_required_tools(whom)

    async def find_for_subject(self, work: UnitOfWork, whom: ConnectSubject, module: str) -> AvailableService | None:
        """One module with the ways to connect it; None where it does not exist for them."""
        needs = self._find_required_tools(whom)
        if module not in needs:
            return None
        providers = [
            provider for provider in (await self._book.load_all(work)).known.values() if module in provider.modules
        ]
        related = {module, *(name for provider in providers for name in provider.modules if name in needs)}
        credentials = await self._list_credentials(
            work, [needs[provider].module for provider in related], whom.owner.user_id, whom.role_ids
        )
        service, own = (
            _build_service(needs[module], whom, credentials),
            {provider.module: provider for provider in credentials if provider.role_id == whom.owner.role_id},
        )
        clients = {
            provider.id: await self._clients.find_for_roles(work, provider.id, whom.role_ids)
            for provider in providers
            if provider.oauth
        }
        missing = tuple(
            provider
            for provider in providers
            if provider.oauth and clients[provider.id] is None and not self._introductions.choose_method(provider)
        )
        keys = accepts_keys(await load_service_url(work, needs[module].module))
        ways = list_connect_methods(
            module, needs, providers, clients, own, {provider.id for provider in missing}, keys=keys
        )
        lacks = _find_missing_scopes(service, ways)
        return AvailableService(
            service.required_tools, service.own, service.shared, tuple(ways), lacks, missing, bool(ways)
        )

    def get_manifests(self, modules: Sequence[str]) -> list[ModuleManifest]:
        """Return the manifests of modules that have vendors."""
        return [self._offered[module] for module in modules]

    async def list_sharing_roles(self, session: ConnectPrincipal, module: str) -> list[tuple[UUID, str]]:
        """The roles that an administrator may share the module with, those whose members have tools of it."""
        if session.system_role != ADMINISTRATOR or module not in self._offered:
            return []
        async with self._database.tenant(session.tenant_id) as work:
            services = await load_enabled_modules(work)
            roles = await load_roles(work, None)
        if module not in services:
            return []
        return [(role_id, role.name) for role_id, role in roles if find_required_tools(self._offered[module], [role])]

    async def list_shared_credentials(self, session: ConnectPrincipal) -> tuple[list[StoredCredential], int]:
        """List the tenant's shared credentials, broken ones first, at most :data:`MAX_SHARED_SHOWN`.

        Returns the credentials and how many more there are.
        """
        if session.system_role != ADMINISTRATOR:
            return [], 0
        async with self._database.tenant(session.tenant_id) as work:
            services = await load_enabled_modules(work)
            roles = dict(await load_roles(work, None))
            modules = [credential for name, credential in self._offered.items() if name in services]
            credentials = await self._list_credentials(work, modules, None, list(roles))
        usable = [
            credential
            for credential in credentials
            if credential.role_id and find_required_tools(self._offered[credential.module], [roles[credential.role_id]])
        ]
        usable.sort(key=lambda credential: (not credential.broken, credential.owner, credential.module))
        return usable[:MAX_SHARED_SHOWN], max(0, len(usable) - MAX_SHARED_SHOWN)

    async def _find_connectable(
        self, work: UnitOfWork, whom: ConnectSubject, required: Iterable[RequiredTools]
    ) -> frozenset[str]:
        providers = (await self._book.load_all(work)).known.values()
        registered = await self._clients.list_registered_providers(work, whom.role_ids)
        settings = await load_service_settings(work)
        modules = (required_tools.module for required_tools in required)
        return frozenset(
            module.name
            for module in modules
            if self._is_connectable(
                [provider for provider in providers if module.name in provider.modules],
                registered,
                keys=accepts_keys(get_service_url(module, settings)),
            )
        )

    def _is_connectable(self, usable: Sequence[Provider], registered: Collection[str], *, keys: bool) -> bool:
        return (keys and not usable) or any(
            (provider.key is not None and keys)
            or (
                provider.oauth is not None
                and (provider.id in registered or bool(self._introductions.choose_method(provider)))
            )
            for provider in usable
        )

    async def _list_credentials(
        self, work: UnitOfWork, modules: Sequence[ModuleManifest], user_id: UUID | None, role_ids: Sequence[UUID]
    ) -> list[StoredCredential]:
        """What there is, by module: one's own first, then in the order of the roles."""
        names, order = [module.name for module in modules], {role_id: number for number, role_id in enumerate(role_ids)}
        credentials = await list_credentials(
            work, self._origins, modules=names, user_id=user_id, role_ids=role_ids, limit=None
        )
        return sorted(
            credentials, key=lambda module: (module.module, -1 if module.role_id is None else order[module.role_id])
        )

    async def list_owner_credentials(
        self, work: UnitOfWork, modules: Sequence[str], owner: CredentialOwner
    ) -> list[StoredCredential]:
        """List the credentials that one owner has for these modules."""
        return await list_owner_credentials(work, self._origins, modules, owner)

    def _find_required_tools(self, whom: ConnectSubject) -> dict[str, RequiredTools]:
        roles = [role for _, role in whom.roles]
        required = {
            name: find_required_tools(module, roles) for name, module in self._offered.items() if name in whom.services
        }
        return {name: needs for name, needs in required.items() if needs}


async def load_person_subject(work: UnitOfWork, user_id: UUID) -> ConnectSubject:
    """The person by all their roles."""
    access: UserPolicy = await load_user_policy(work, user_id)
    return ConnectSubject(CredentialOwner("personal", user_id), access.roles, access.policy.services)


async def resolve_subject(work: UnitOfWork, session: ConnectPrincipal, role_id: UUID | None) -> ConnectSubject | None:
    """The person, or the members of a role where the person administers; None for a role that is none of theirs to
    share with."""
    if role_id is None:
        return await load_person_subject(work, session.user_id)
    if session.system_role != ADMINISTRATOR:
        return None
    roles = await load_roles(work, role_id)
    return (
        ConnectSubject(CredentialOwner("shared", role_id), roles, await load_enabled_modules(work)) if roles else None
    )


def _build_service(
    needs: RequiredTools, whom: ConnectSubject, credentials: Sequence[StoredCredential]
) -> AvailableService:
    own_credentials = [credential for credential in credentials if credential.module == needs.module.name]
    own = next((credential for credential in own_credentials if credential.role_id == whom.owner.role_id), None)
    shared = tuple(
        credential for credential in own_credentials if credential.role_id is not None and whom.owner.role_id is None
    )
    return AvailableService(needs, own, shared)


def _find_missing_scopes(service: AvailableService, ways: Sequence[ConnectMethod]) -> tuple[str, ...]:
    own = service.own
    if own is None or own.type != "oauth":
        return ()
    for way in ways:
        if way.provider is not None and way.provider.id == own.provider and way.scope_request is not None:
            oauth = way.provider.oauth
            return () if oauth is None else find_missing_scopes(oauth, way.scope_request.scopes, own.scopes)
    return ()
