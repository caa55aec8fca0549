"""The connection doctor where roles count too: what a person has not connected yet, and what covers too little."""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from broker.access import Access, load_access
from broker.accounts.standing import (
    MOST_SHOWN,
    Happened,
    Standing,
    State,
    history,
    needing,
    standings,
    unconnected,
)
from broker.connect.offers import Needs, Offered, needs_of, wanted
from broker.connect.provider_book import ProviderBook
from broker.connect.services import roles_of
from broker.connect.ways import has_writing
from broker.providers.catalogue import Providers
from broker.vendor_oauth.reasons import SCOPE
from broker.vendor_oauth.scopes import lacking
from core.db import UnitOfWork
from core.permissions import Role


class Doctor:
    """Looks at one tenant, in a unit of work of it; `offered` are the modules that have vendors."""

    def __init__(self, book: ProviderBook, offered: Sequence[Offered]) -> None:
        self._book = book
        self._offered = {one.name: one for one in offered}

    async def of_person(self, work: UnitOfWork, user_id: UUID) -> list[Standing]:
        """What a user may use, by module: their own accounts, those that their roles share, and what is not connected
        though they have tools of it."""
        access = await load_access(work, user_id)
        role_ids = [role_id for role_id, _ in access.roles]
        found = await self._examined(work, await standings(work, user_id=user_id, role_ids=role_ids))
        email = await work.fetchval(_EMAIL, user_id)
        connected = {one.module for one in found}
        missing = [name for name in self._needed(access) if name not in connected]
        return sorted([*found, *(unconnected(name, user_id, email or "") for name in missing)], key=lambda one: one.key)

    async def of_everyone(
        self, work: UnitOfWork, *, after: tuple[str, UUID] | None = None, limit: int = MOST_SHOWN
    ) -> list[Standing]:
        """Everybody's credentials, by module and id; what nobody has connected is in nobody's list."""
        return await self._examined(work, await standings(work, after=after, limit=limit))

    async def one(
        self, work: UnitOfWork, credential_id: UUID, user_id: UUID | None
    ) -> tuple[Standing, list[Happened]] | None:
        """One credential with its history; None where there is none, or it is not the user's or one of their roles'."""
        role_ids: list[UUID] = []
        if user_id is not None:
            role_ids = [role_id for role_id, _ in (await load_access(work, user_id)).roles]
        found = await standings(work, user_id=user_id, role_ids=role_ids, credential_id=credential_id)
        if not found:
            return None
        (examined,) = await self._examined(work, found)
        return examined, await history(work, credential_id)

    def _needed(self, access: Access) -> list[str]:
        """The modules of which a user may use a tool."""
        roles = [role for _, role in access.roles]
        return [name for name, one in self._offered.items() if name in access.settings_json and needs_of(one, roles)]

    async def _examined(self, work: UnitOfWork, found: Sequence[Standing]) -> list[Standing]:
        """The same, and those that work but cover less than their owner's tools need, which is known here only."""
        working = [one for one in found if one.provider and one.state is State.CONNECTED]
        if not working:
            return list(found)
        providers = await self._book.all(work)
        roles = await _roles_by_owner(work, working)
        return [
            needing(one, SCOPE) if one in working and self._lacks(one, providers, roles[one.owner_id]) else one
            for one in found
        ]

    def _lacks(self, one: Standing, providers: Providers, roles: Iterable[Role]) -> bool:
        provider, module = providers.known.get(one.provider), self._offered.get(one.module)
        if provider is None or provider.oauth is None or module is None or one.module not in provider.modules:
            return False
        needs: Needs = needs_of(module, list(roles))
        if not needs:
            return False
        writing = [one.module] if has_writing(provider, needs, one.scopes) else []
        asked = wanted(provider, (needs,), writing=writing)
        # What every grant of this provider has asked for besides (openid, offline_access) is no tool's.
        own = [scope for scope in asked.scopes if scope not in provider.oauth.base_scopes]
        return bool(lacking(provider.oauth, own, one.scopes))


async def _roles_by_owner(work: UnitOfWork, found: Iterable[Standing]) -> Mapping[UUID, list[Role]]:
    roles: dict[UUID, list[Role]] = {}
    for one in found:
        if one.owner_id not in roles:
            given = (
                (await load_access(work, one.owner_id)).roles
                if one.kind == "personal"
                else await roles_of(work, one.owner_id)
            )
            roles[one.owner_id] = [role for _, role in given]
    return roles


_EMAIL = "SELECT email FROM core.users WHERE tenant_id = $1 AND id = $2"
