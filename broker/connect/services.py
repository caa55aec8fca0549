"""What somebody can connect: their services, the ways to each, what they have already, and who shares it."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from broker.access import Access, load_access
from broker.connect.binding import settings_of_services
from broker.connect.held import Held, held_by
from broker.connect.introductions import Introductions
from broker.connect.oauth_clients import OAuthClients
from broker.connect.offers import Needs, Offered, needs_of
from broker.connect.people import Person
from broker.connect.provider_book import ProviderBook
from broker.connect.ways import Way, ways_of
from broker.providers.model import Provider
from broker.vault.bounds import ELSEWHERE, Bounds
from broker.vault.owners import Owner
from broker.vendor_oauth.scopes import lacking
from core.db import Database, UnitOfWork
from core.permissions import Role, make_role

ADMINISTRATOR = "admin"
MOST_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Whom:
    """For whom an account is connected: a person by all their roles, or the members of one role by that alone."""

    owner: Owner
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
class Service:
    """One module as it stands for somebody. `own` is the credential that would be replaced; `shared` are those of the
    person's roles, the highest first. `connectable` says that there is a way at all."""

    needs: Needs
    own: Held | None
    shared: tuple[Held, ...]
    ways: tuple[Way, ...] = ()
    lacking: tuple[str, ...] = ()
    unregistered: tuple[Provider, ...] = ()
    connectable: bool = True

    @property
    def counts(self) -> Held | None:
        """The credential that a call uses: one's own, else that of the highest role."""
        return self.own or next(iter(self.shared), None)


class Services:
    """Reads them, for the pages; `offered` are the modules that have vendors."""

    def __init__(
        self,
        database: Database,
        clients: OAuthClients,
        book: ProviderBook,
        offered: Sequence[Offered],
        introductions: Introductions,
    ) -> None:
        self._database = database
        self._clients = clients
        self._book = book
        self._introductions = introductions
        self._offered = {one.name: one for one in offered}

    async def all(self, session: Person) -> list[Service]:
        """All that the person's roles give, by title; without the ways."""
        async with self._database.tenant(session.tenant_id) as work:
            whom = await person(work, session)
            found = list(self._needs(whom).values())
            held = await self._held(work, [one.module for one in found], session.user_id, whom.role_ids)
            providers = (await self._book.all(work)).known.values()
            registered = await self._clients.registered(work, whom.role_ids)
        services = (_service(one, whom, held) for one in found)
        shown = (replace(one, connectable=self._connectable(one.needs, providers, registered)) for one in services)
        return sorted(shown, key=lambda one: one.needs.module.title)

    async def see(self, session: Person, module: str, role_id: UUID | None) -> tuple[Service, Whom] | None:
        """One module for the person, or for a role that they may share it with; None where it does not exist for
        them."""
        async with self._database.tenant(session.tenant_id) as work:
            whom = await whom_of(work, session, role_id)
            if whom is None:
                return None
            service = await self.of(work, whom, module)
            return None if service is None else (service, whom)

    def exists(self, whom: Whom, module: str) -> bool:
        """Whether `module` exists for them: its service is on and a role permits one of its tools."""
        return module in self._needs(whom)

    async def of(self, work: UnitOfWork, whom: Whom, module: str) -> Service | None:
        """One module with the ways to connect it; None where it does not exist for them."""
        needs = self._needs(whom)
        if module not in needs:
            return None
        providers = [one for one in (await self._book.all(work)).known.values() if module in one.modules]
        related = {module, *(name for one in providers for name in one.modules if name in needs)}
        held = await self._held(work, [needs[one].module for one in related], whom.owner.user_id, whom.role_ids)
        service, own = _service(needs[module], whom, held), {one.module: one for one in held if one.is_of(whom.owner)}
        clients = {one.id: await self._clients.choose(work, one.id, whom.role_ids) for one in providers if one.oauth}
        missing = tuple(
            one for one in providers if one.oauth and clients[one.id] is None and not self._introductions.way(one)
        )
        ways = ways_of(module, needs, providers, clients, own, {one.id for one in missing})
        lacks = _lacking(service, ways)
        return Service(service.needs, service.own, service.shared, tuple(ways), lacks, missing, bool(ways))

    def offered(self, modules: Sequence[str]) -> list[Offered]:
        """What is known of modules that have vendors."""
        return [self._offered[module] for module in modules]

    async def sharable(self, session: Person, module: str) -> list[tuple[UUID, str]]:
        """The roles that an administrator may share the module with, those whose members have tools of it."""
        if session.system_role != ADMINISTRATOR or module not in self._offered:
            return []
        async with self._database.tenant(session.tenant_id) as work:
            services = await _enabled(work)
            roles = await roles_of(work, None)
        if module not in services:
            return []
        return [(role_id, role.name) for role_id, role in roles if needs_of(self._offered[module], [role])]

    async def shared(self, session: Person) -> tuple[list[Held], int]:
        """What roles share in the tenant, for an administrator, of whatever role; those that do not work first, at
        most :data:`MOST_SHOWN`, and how many more there are."""
        if session.system_role != ADMINISTRATOR:
            return [], 0
        async with self._database.tenant(session.tenant_id) as work:
            services = await _enabled(work)
            roles = dict(await roles_of(work, None))
            modules = [one for name, one in self._offered.items() if name in services]
            held = await self._held(work, modules, None, list(roles))
        usable = [one for one in held if one.role_id and needs_of(self._offered[one.module], [roles[one.role_id]])]
        usable.sort(key=lambda one: (one.state == "connected", one.role, one.module))
        return usable[:MOST_SHOWN], max(0, len(usable) - MOST_SHOWN)

    def _connectable(self, needs: Needs, providers: Iterable[Provider], registered: Collection[str]) -> bool:
        mine = [one for one in providers if needs.module.name in one.modules]
        return not mine or any(
            one.key is not None
            or (one.oauth is not None and (one.id in registered or bool(self._introductions.way(one))))
            for one in mine
        )

    async def _held(
        self, work: UnitOfWork, modules: Sequence[Offered], user_id: UUID | None, role_ids: Sequence[UUID]
    ) -> list[Held]:
        """What there is; one whose service was given another address since does not work any more."""
        bounds, settings = Bounds({one.name: one.base_url for one in modules}), await settings_of_services(work)
        return [
            replace(one, state="broken", cause=ELSEWHERE)
            if bounds.is_elsewhere(one.module, one.origins, settings.get(one.module, {}))
            else one
            for one in await held_by(work, [one.name for one in modules], user_id, role_ids)
        ]

    def _needs(self, whom: Whom) -> dict[str, Needs]:
        roles = [role for _, role in whom.roles]
        found = {name: needs_of(one, roles) for name, one in self._offered.items() if name in whom.services}
        return {name: needs for name, needs in found.items() if needs}


async def person(work: UnitOfWork, session: Person) -> Whom:
    """The person of a session."""
    access: Access = await load_access(work, session.user_id)
    return Whom(Owner("personal", session.user_id), access.roles, access.policy.services)


async def whom_of(work: UnitOfWork, session: Person, role_id: UUID | None) -> Whom | None:
    """The person, or the members of a role where the person administers; None for a role that is none of theirs to
    share with."""
    if role_id is None:
        return await person(work, session)
    if session.system_role != ADMINISTRATOR:
        return None
    roles = await roles_of(work, role_id)
    return Whom(Owner("shared", role_id), tuple(roles), await _enabled(work)) if roles else None


def _service(needs: Needs, whom: Whom, held: Sequence[Held]) -> Service:
    mine = [one for one in held if one.module == needs.module.name]
    own = next((one for one in mine if one.is_of(whom.owner)), None)
    shared = tuple(one for one in mine if one.role_id is not None and whom.owner.role_id is None)
    return Service(needs, own, shared)


def _lacking(service: Service, ways: Sequence[Way]) -> tuple[str, ...]:
    own = service.own
    if own is None or own.type != "B":
        return ()
    for way in ways:
        if way.provider is not None and way.provider.id == own.provider and way.wanted is not None:
            oauth = way.provider.oauth
            return () if oauth is None else lacking(oauth, way.wanted.scopes, own.scopes)
    return ()


async def _enabled(work: UnitOfWork) -> frozenset[str]:
    return frozenset(row["module"] for row in await work.fetch(_SERVICES))


async def roles_of(work: UnitOfWork, role_id: UUID | None) -> list[tuple[UUID, Role]]:
    """One role with what it permits, or all of the tenant, the highest first."""
    given: dict[tuple[UUID, str, int], list[tuple[str, str]]] = {}
    for row in await work.fetch(_ROLES, role_id):
        of_role = given.setdefault((row["id"], row["name"], row["priority"]), [])
        if row["permission"] is not None:
            of_role.append((row["effect"], row["permission"]))
    return [(key[0], make_role(key[1], rows, key[2])) for key, rows in given.items()]


_SERVICES = "SELECT module FROM core.services WHERE tenant_id = $1 AND enabled"
_ROLES = """SELECT r.id, r.name, r.priority, p.effect, p.permission FROM core.roles r
    LEFT JOIN core.permissions p ON p.tenant_id = r.tenant_id AND p.role_id = r.id
    WHERE r.tenant_id = $1 AND ($2::uuid IS NULL OR r.id = $2) ORDER BY r.priority DESC, r.name"""
