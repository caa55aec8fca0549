"""The connection doctor where roles count too: what a person has not connected yet, and what covers too little."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from broker.connections.connect_methods import RequiredTools, build_scope_request, find_required_tools, has_write_scopes
from broker.connections.connection_status import HealthState
from broker.connections.stored_credentials import (
    MAX_CREDENTIALS,
    AccountEvent,
    CredentialKey,
    StoredCredential,
    UnconnectedModule,
    find_credential,
    list_account_events,
    list_credentials,
)
from broker.oauth_client.vendor_scopes import find_missing_scopes
from broker.providers.catalogue import ProviderCatalogue, ProviderRegistry
from broker.providers.error_reasons import SCOPE
from broker.user_policy import UserPolicy, load_user_policy
from broker.vault.origin_policy import OriginPolicy
from core.db import UnitOfWork
from core.module_manifest import ModuleManifest
from core.permissions import Role
from core.policy_loader import load_roles


class ConnectionHealth:
    """Looks at one tenant, in a unit of work of it; `offered` are the modules that have vendors."""

    def __init__(self, book: ProviderRegistry, offered: Sequence[ModuleManifest]) -> None:
        self._book = book
        self._offered = {module.name: module for module in offered}
        self._origins = OriginPolicy({module.name: module.base_url for module in offered})

    async def list_for_user(self, work: UnitOfWork, user_id: UUID) -> list[StoredCredential | UnconnectedModule]:
        """List a user's connections by module: own, shared by their roles, and modules not connected yet."""
        access = await load_user_policy(work, user_id)
        role_ids = [role_id for role_id, _ in access.roles]
        credentials = await self._check_scopes(
            work, await list_credentials(work, self._origins, user_id=user_id, role_ids=role_ids)
        )
        email = await work.fetchval(_EMAIL, user_id)
        connected = {credential.module for credential in credentials}
        missing = [name for name in self._list_needed_modules(access) if name not in connected]
        return sorted(
            [*credentials, *(UnconnectedModule(name, email or "") for name in missing)],
            key=lambda credential: credential.sort_key,
        )

    async def list_for_tenant(
        self, work: UnitOfWork, *, after: CredentialKey | None = None, limit: int = MAX_CREDENTIALS
    ) -> list[StoredCredential]:
        """Everybody's credentials, by module, kind and owner; what nobody has connected is in nobody's list."""
        return await self._check_scopes(
            work, await list_credentials(work, self._origins, everyone=True, after=after, limit=limit)
        )

    async def list_stored(
        self,
        work: UnitOfWork,
        user_id: UUID | None,
        *,
        role_id: UUID | None = None,
        after: CredentialKey | None,
        limit: int,
    ) -> list[StoredCredential]:
        """The credentials of a user and their roles, or with None those that a role shares, or everybody's; at most
        `limit` behind `after`."""
        role_ids: list[UUID] = [] if role_id is None else [role_id]
        if user_id is not None:
            role_ids = [role_id for role_id, _ in (await load_user_policy(work, user_id)).roles]
        credentials = await list_credentials(
            work,
            self._origins,
            everyone=user_id is None and role_id is None,
            user_id=user_id,
            role_ids=role_ids,
            after=after,
            limit=limit,
        )
        return await self._check_scopes(work, credentials)

    async def find(self, work: UnitOfWork, credential_id: UUID) -> StoredCredential:
        """One credential of the tenant, whatever its owner's tools need.

        Raises:
            NotFound: the tenant has none of that id.
        """
        return await find_credential(work, self._origins, credential_id)

    async def find_with_history(
        self, work: UnitOfWork, credential_id: UUID, user_id: UUID | None
    ) -> tuple[StoredCredential, list[AccountEvent]] | None:
        """One credential with its history; None where there is none, or it is not the user's or one of their roles'."""
        role_ids: list[UUID] = []
        if user_id is not None:
            role_ids = [role_id for role_id, _ in (await load_user_policy(work, user_id)).roles]
        credentials = await list_credentials(
            work,
            self._origins,
            everyone=user_id is None,
            user_id=user_id,
            role_ids=role_ids,
            credential_id=credential_id,
        )
        if not credentials:
            return None
        (examined,) = await self._check_scopes(work, credentials)
        return examined, await list_account_events(work, credential_id)

    def _list_needed_modules(self, access: UserPolicy) -> list[str]:
        """The modules of which a user may use a tool."""
        roles = [role for _, role in access.roles]
        return [
            name
            for name, module in self._offered.items()
            if name in access.settings_json and find_required_tools(module, roles)
        ]

    async def _check_scopes(self, work: UnitOfWork, credentials: Sequence[StoredCredential]) -> list[StoredCredential]:
        """The same, and those that work but cover less than their owner's tools need, which is known here only."""
        working = [
            credential
            for credential in credentials
            if credential.provider and credential.state is HealthState.CONNECTED
        ]
        if not working:
            return list(credentials)
        providers = await self._book.load_all(work)
        roles = await _load_roles_by_owner(work, working)
        return [
            replace(credential, state=HealthState.NEEDS_RECONNECT, cause=SCOPE, next_retry_at=None)
            if credential in working and self._lacks_scopes(credential, providers, roles[credential.holder.id])
            else credential
            for credential in credentials
        ]

    def _lacks_scopes(self, credential: StoredCredential, providers: ProviderCatalogue, roles: Iterable[Role]) -> bool:
        provider, module = providers.known.get(credential.provider), self._offered.get(credential.module)
        if provider is None or provider.oauth is None or module is None or credential.module not in provider.modules:
            return False
        needs: RequiredTools = find_required_tools(module, list(roles))
        if not needs:
            return False
        writing = [credential.module] if has_write_scopes(provider, needs, credential.scopes) else []
        scope_request = build_scope_request(provider, (needs,), writing=writing)
        # What every grant of this provider has asked for besides (openid, offline_access) is no tool's.
        own = [scope for scope in scope_request.scopes if scope not in provider.oauth.base_scopes]
        return bool(find_missing_scopes(provider.oauth, own, credential.scopes))


async def _load_roles_by_owner(work: UnitOfWork, credentials: Iterable[StoredCredential]) -> Mapping[UUID, list[Role]]:
    roles: dict[UUID, list[Role]] = {}
    for credential in credentials:
        if credential.holder.id not in roles:
            owner_roles = (
                (await load_user_policy(work, credential.holder.id)).roles
                if credential.kind == "personal"
                else await load_roles(work, credential.holder.id)
            )
            roles[credential.holder.id] = [role for _, role in owner_roles]
    return roles


_EMAIL = "SELECT email FROM core.users WHERE tenant_id = $1 AND id = $2"
