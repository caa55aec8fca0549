"""Connecting by a key that a person has copied at the vendor: asked for whose it is, then stored (type A)."""

from collections.abc import Mapping
from typing import Any, Literal, Protocol
from uuid import UUID

from broker.access import load_access
from broker.connect.disconnecting import Disconnecting
from broker.connect.held import Held
from broker.connect.people import Person
from broker.connect.refusals import ConnectRefused
from broker.connect.services import Services, Whom, whom_of
from broker.vault.credentials import Credentials
from core.db import Database
from core.errors import Conflict, Invalid, NotFound
from core.secret import Secret

KeyTrouble = Literal["form", "not_accepted", "forbidden", "busy", "away", "setup"]


class KeyRefused(Exception):
    """The vendor does not take a key, or cannot be asked."""

    def __init__(self, trouble: KeyTrouble) -> None:
        super().__init__(trouble)
        self.trouble: KeyTrouble = trouble


class KeyCheck(Protocol):
    """Asks a module's vendor, by a harmless request, whose a key is. The composition root gives one."""

    async def __call__(self, module: str, settings: Mapping[str, Any], secret: Secret) -> str:
        """The account's name; `settings` are the tenant's of the service.

        Raises:
            KeyRefused: it is not taken, or the vendor cannot be asked.
        """
        ...


class OtherAccount(Exception):
    """The key is of another account than what is there; the person has to say that this is meant."""

    def __init__(self, before: str, now: str) -> None:
        super().__init__()
        self.before = before
        self.now = now


class PastedKeys:
    """Keys, of all tenants."""

    def __init__(
        self,
        database: Database,
        services: Services,
        credentials: Credentials,
        disconnecting: Disconnecting,
        check: KeyCheck,
    ) -> None:
        self._database = database
        self._services = services
        self._credentials = credentials
        self._disconnecting = disconnecting
        self._check = check

    async def connect(
        self, session: Person, module: str, role_id: UUID | None, secret: Secret, *, replace: bool = False
    ) -> str:
        """Store a key after the vendor has told whose it is; the account's name.

        Raises:
            NotFound: there is no such module for the person, or it is not connected by keys.
            ConnectRefused: the vendor does not take the key, or cannot be asked.
            OtherAccount: it is another account's, and `replace` is not said.
        """
        held, whom, title, settings = await self._allowed(session, module, role_id)
        try:
            name = await self._check(module, settings, secret)
        except KeyRefused as refused:
            raise ConnectRefused(f"key_{refused.trouble}", title=title, module=module) from None
        if held is not None and held.name and name != held.name and not replace:
            raise OtherAccount(held.name, name)
        try:
            await self._stored(session, module, whom, held, secret, name)
        except Invalid:
            raise ConnectRefused("key_form", title=title, module=module) from None
        return name

    async def _allowed(
        self, session: Person, module: str, role_id: UUID | None
    ) -> tuple[Held | None, Whom, str, Mapping[str, Any]]:
        async with self._database.tenant(session.tenant_id) as work:
            whom = await whom_of(work, session, role_id)
            service = None if whom is None else await self._services.of(work, whom, module)
            if whom is None or service is None or not any(way.kind == "key" for way in service.ways):
                raise NotFound("there is no such service for you")
            settings = (await load_access(work, session.user_id)).settings(module)
        return service.own, whom, service.needs.module.title, settings

    async def _stored(
        self, session: Person, module: str, whom: Whom, held: Held | None, secret: Secret, name: str
    ) -> None:
        """An account that was connected by OAuth is ended first, for then the vendor is told of it."""
        over = None
        if held is not None and held.account_id is not None:
            await self._disconnecting.disconnect(session.actor, session.tenant_id, held, whom.owner)
        elif held is not None:
            found, _ = await self._credentials.find(session.tenant_id, held.id)
            over = found.version
            if found.account != held.name:
                raise Conflict("this has changed meanwhile")
        await self._credentials.put(session.actor, session.tenant_id, module, whom.owner, secret, name, over=over)
