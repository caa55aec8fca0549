"""What becomes of a new grant: used at once, or after its person has chosen a site or agreed to another account."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from broker.connect.accounts import AccountRows, Unconfirmed
from broker.connect.disconnecting import Disconnecting
from broker.connect.ended import Cause
from broker.connect.ending import UNCONFIRMED, remove
from broker.connect.flows import Flow, Flows
from broker.connect.held import Held, held_of
from broker.connect.provider_book import ProviderBook
from broker.connect.services import Services, Whom, whom_of
from broker.identity.sessions import Session
from broker.providers.model import RefreshRules
from broker.vault.bounds import WARNING
from broker.vendor_oauth.account import Found, Site
from core.audit.event import Kind
from core.db import Database, UnitOfWork
from core.directory.actor import recorded
from core.errors import NotFound

MOST_SITES = 100


@dataclass(frozen=True, slots=True)
class Connected:
    """The account is used from now on. `kept` says that the vendor granted less than there was before, so that the
    grant before was kept."""

    flow: Flow
    account: str
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """The person has something to decide on a page first."""

    flow: Flow


@dataclass(frozen=True, slots=True)
class Asked:
    """What that page shows. `before` are the accounts that would be replaced, by name ("" where there is none);
    `untold` says that nobody can tell whether one of them is the same. `role` is whom it is shared with, "" for nobody;
    `sites` more than one."""

    flow: Flow
    role: str
    account: str
    before: tuple[str, ...]
    untold: bool
    sites: tuple[Site, ...]


Outcome = Connected | Question


class Finishing:
    """The last steps, each in one transaction."""

    def __init__(
        self,
        database: Database,
        rows: AccountRows,
        flows: Flows,
        book: ProviderBook,
        disconnecting: Disconnecting,
        services: Services,
    ) -> None:
        self._database = database
        self._services = services
        self._book = book
        self._rows = rows
        self._flows = flows
        self._disconnecting = disconnecting

    async def decide(
        self, session: Session, flow: Flow, account_id: UUID, whose: Found, sites: Sequence[Site], warning: str = ""
    ) -> Outcome:
        """Finish, unless there is something to ask. `warning` is what the owner had better do, as a fixed word."""
        sites = tuple({one.id: one for one in sites}.values())  # one entry for each product of a site (Atlassian)
        told = [[one.id, one.name or one.id, one.url] for one in sites][:MOST_SITES]
        details = {**whose.details, "flow": str(flow.id), "sites": told, **({WARNING: warning} if warning else {})}
        async with self._database.tenant(session.tenant_id) as work:
            await self._rows.describe(work, account_id, whose.id, whose.name or whose.id, details)
            found = await self._rows.unconfirmed(work, flow)
            assert found is not None
            if len(sites) > 1 or _others(await held_of(work, flow.modules, flow.owner), found):
                return Question(flow)
        return await self._finished(session, flow, next((one.id for one in sites), ""))

    async def asked(self, session: Session, flow_id: UUID) -> Asked:
        """The question that a flow has left for this session.

        Raises:
            NotFound: there is none, or not for them.
        """
        async with self._database.tenant(session.tenant_id) as work:
            flow, found, whom = await self._allowed(work, session, flow_id)
            before = _others(await held_of(work, flow.modules, flow.owner), found)
        names = tuple(dict.fromkeys(one.name for one in before))
        sites, untold = _sites(found.details), any(_is_same_account(one, found) is None for one in before)
        return Asked(flow, whom.shared_with, found.name, names, untold, sites if len(sites) > 1 else ())

    async def confirm(self, session: Session, flow_id: UUID, site: str) -> Connected:
        """Go on with what the question was about; `site` where there was one to choose.

        Raises:
            NotFound: there is no such question, or no such site.
        """
        async with self._database.tenant(session.tenant_id) as work:
            flow, found, _ = await self._allowed(work, session, flow_id)
        sites = _sites(found.details)
        if sites and site not in {one.id for one in sites}:
            if len(sites) > 1 or site:
                raise NotFound("there is no such site to choose")
            site = next(one.id for one in sites)
        return await self._finished(session, flow, site)

    async def cancel(self, session: Session, flow_id: UUID) -> Flow:
        """Leave everything as it was, and give the new grant back.

        Raises:
            NotFound: there is no such question.
        """
        async with self._database.tenant(session.tenant_id) as work:
            flow, found, _ = await self._open(work, session, flow_id)
        await self.forget(session, found.id, "declined")
        return flow

    async def forget(self, session: Session, account_id: UUID, cause: Cause) -> None:
        """Give a grant back that will not be used."""
        await self._disconnecting.end(session.actor, session.tenant_id, account_id, cause, only=UNCONFIRMED)

    async def _finished(self, session: Session, flow: Flow, site_id: str) -> Connected:
        async with self._database.tenant(session.tenant_id) as work:
            owner = flow.owner
            await self._rows.lock(work, owner)
            found = await self._rows.unconfirmed(work, flow)
            if found is None:
                raise NotFound("this was decided already")
            before = await held_of(work, flow.modules, owner)
            same = next((one for one in before if _is_same(one, flow, found)), None)
            if same is not None and _is_less(same, flow, found):
                await remove(work, found.id)  # and not at the vendor, where it may be the same grant
                return Connected(flow, same.name, kept=True)
            details = _details(found.details, site_id)
            if same is None:
                account_id = await self._rows.activate(work, found.id, details)
            else:
                rules = await self._rules(work, flow)
                account_id = await self._rows.renew(work, same, owner, found, rules, details)
            await self._rows.tie(work, _origins(flow, found), owner, account_id, found.name)
            left = [one.account_id for one in before if one.account_id is not None and one.account_id != account_id]
            orphans = await self._rows.orphans(work, left)
            await _recorded(work, session, flow, account_id, found.name)
        for one in orphans:
            await self._disconnecting.end(session.actor, session.tenant_id, one, "replaced")
        return Connected(flow, found.name)

    async def _rules(self, work: UnitOfWork, flow: Flow) -> RefreshRules:
        provider = await self._book.find(work, flow.provider)
        return RefreshRules() if provider is None or provider.oauth is None else provider.oauth.refresh

    async def _allowed(self, work: UnitOfWork, session: Session, flow_id: UUID) -> tuple[Flow, Unconfirmed, Whom]:
        """An open question about a service that the person may still connect. To decline, no such right is needed."""
        flow, found, whom = await self._open(work, session, flow_id)
        if not self._services.exists(whom, flow.modules[0]):
            raise NotFound("there is nothing to decide here")
        return flow, found, whom

    async def _open(self, work: UnitOfWork, session: Session, flow_id: UUID) -> tuple[Flow, Unconfirmed, Whom]:
        self._rows.check_original()
        flow = await self._flows.taken(work, session, flow_id)
        found = None if flow is None else await self._rows.unconfirmed(work, flow)
        whom = None if flow is None else await whom_of(work, session, flow.role_id)
        if flow is None or found is None or whom is None:
            raise NotFound("there is nothing to decide here")
        return flow, found, whom


def _is_same(held: Held, flow: Flow, found: Unconfirmed) -> bool:
    """Whether the new grant is of the account that is there, by the same client. Nothing is inherited by guess."""
    return (
        held.type == "B"
        and held.provider == flow.provider
        and held.oauth_client_id == flow.oauth_client_id
        and _is_same_account(held, found) is True
    )


def _is_same_account(held: Held, found: Unconfirmed) -> bool | None:
    """Whether both are one account at the vendor; None where nobody can tell. Of a key only a name is known."""
    before, now = (held.vendor_account_id, found.vendor_account_id) if held.type == "B" else (held.name, found.name)
    return before == now if before and now else None


def _others(before: Sequence[Held], found: Unconfirmed) -> list[Held]:
    """Those of the credentials that would be replaced which are of another vendor account, or may be."""
    return [held for held in before if _is_same_account(held, found) is not True]


def _is_less(held: Held, flow: Flow, found: Unconfirmed) -> bool:
    """Whether the vendor granted less of what was asked for than a grant that works has already."""
    if held.state != "connected":
        return False
    return not set(held.scopes) & set(flow.scopes) <= set(found.scopes)


def _sites(details: Mapping[str, Any]) -> tuple[Site, ...]:
    return tuple(Site(*one, scopes=()) for one in details.get("sites", ()))


def _origins(flow: Flow, found: Unconfirmed) -> Mapping[str, Sequence[str]]:
    bound: Mapping[str, Sequence[str]] = found.details.get("origins", {})
    return {module: bound.get(module, ()) for module in flow.modules}


def _details(details: Mapping[str, Any], site_id: str) -> dict[str, Any]:
    kept = {name: value for name, value in details.items() if name not in ("flow", "sites", "origins")}
    site = next((one for one in _sites(details) if one.id == site_id), None)
    return kept if site is None else {**kept, "site": site.id, "site_name": site.name, "site_url": site.url}


async def _recorded(work: UnitOfWork, session: Session, flow: Flow, account_id: UUID, name: str) -> None:
    detail = {"provider": flow.provider, "modules": " ".join(flow.modules), "account": name, **flow.owner.recorded}
    await recorded(work, session.actor, Kind.ACCOUNT_CONNECTED, credential=str(account_id), **detail)
