"""The connection doctor where roles count too: what a person has not connected yet, and what covers too little."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from broker.connections.connect_methods import RequiredTools, build_scope_request, find_required_tools, has_write_scopes
from broker.connections.connection_counts import ConnectionCount, load_credential_groups
from broker.connections.connection_status import HealthState, classify
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

GROUPS_PER_STEP = 20
"""Groups of credentials that are judged in one turn of the event loop; the first of a module looks at all its tools."""


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

    async def count_for_tenant(self, work: UnitOfWork) -> list[ConnectionCount]:
        """Count everybody's credentials by module and state, as :meth:`list_for_tenant` tells the state of each."""
        groups = await load_credential_groups(work)
        providers = await self._book.load_all(work)
        needs = _NeedsByRole(self._offered, await load_roles(work, None))
        counts = Counter[tuple[str, HealthState]]()
        judged: dict[tuple[object, ...], bool] = {}
        for number, row in enumerate(groups):
            if number % GROUPS_PER_STEP == 0:
                await asyncio.sleep(0)
            state, _ = classify(row, self._origins)
            module, provider, scopes = row["module"], row["provider"], row["scopes"]
            if state is HealthState.CONNECTED and provider and module in self._offered:
                required_tools = needs.find_any(module, row["role_ids"])
                key = module, provider, tuple(scopes), bool(required_tools.read_tools), bool(required_tools.write_tools)
                if key not in judged:
                    judged[key] = self._lacks_scopes(provider, scopes, providers, required_tools)
                if judged[key]:
                    state = HealthState.NEEDS_RECONNECT
            counts[module, state] += row["count"]
        return [ConnectionCount(module, state, count) for (module, state), count in sorted(counts.items())]

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
            if credential in working
            and credential.module in self._offered
            and self._lacks_scopes(
                credential.provider,
                credential.scopes,
                providers,
                find_required_tools(self._offered[credential.module], roles[credential.holder.id]),
            )
            else credential
            for credential in credentials
        ]

    def _lacks_scopes(
        self, provider_id: str, scopes: Sequence[str], providers: ProviderCatalogue, needs: RequiredTools
    ) -> bool:
        """Check whether a credential of the provider with these scopes covers too little for the tools."""
        provider, name = providers.known.get(provider_id), needs.module.name
        if not needs or provider is None or provider.oauth is None or name not in provider.modules:
            return False
        writing = [name] if has_write_scopes(provider, needs, scopes) else []
        scope_request = build_scope_request(provider, (needs,), writing=writing)
        # What every grant of this provider has asked for besides (openid, offline_access) is no tool's.
        own = [scope for scope in scope_request.scopes if scope not in provider.oauth.base_scopes]
        return bool(find_missing_scopes(provider.oauth, own, scopes))


class _NeedsByRole:
    """What each of a tenant's roles permits of a module, found once: there are more owners than roles."""

    def __init__(self, offered: Mapping[str, ModuleManifest], roles: Iterable[tuple[UUID, Role]]) -> None:
        self._offered = offered
        self._roles = dict(roles)
        self._found: dict[tuple[str, UUID], RequiredTools] = {}

    def find_any(self, module: str, role_ids: Iterable[UUID]) -> RequiredTools:
        """Some tools of an offered module that these roles, taken together, permit: some that read, if there are any,
        and some that write. What is asked of a vendor depends on no more."""
        reading: tuple[str, ...] = ()
        writing: tuple[str, ...] = ()
        for role_id in role_ids:
            one = self._find(module, role_id)
            reading, writing = reading or one.read_tools, writing or one.write_tools
        return RequiredTools(self._offered[module], reading, writing)

    def _find(self, module: str, role_id: UUID) -> RequiredTools:
        key = module, role_id
        if key not in self._found:
            roles = [self._roles[role_id]] if role_id in self._roles else []
            self._found[key] = find_required_tools(self._offered[module], roles)
        return self._found[key]


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
