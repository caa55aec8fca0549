"""Activation of a new grant: at once, or after its person has chosen a site or confirmed another account."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from broker.connect.account_writer import AccountWriter, UnconfirmedAccount
from broker.connect.flow_store import ConnectFlow, ConnectFlowStore
from broker.connections.available_services import AvailableServices, ConnectSubject, resolve_subject
from broker.connections.stored_credentials import StoredCredential
from broker.disconnect.account_deletion import UNCONFIRMED, delete_account
from broker.disconnect.disconnect_service import DisconnectCause, DisconnectService
from broker.identity.browser_sessions import Session
from broker.oauth_client.userinfo import AccountIdentity, VendorSite
from broker.providers.catalogue import ProviderRegistry
from broker.providers.schema import ModuleScopes, RefreshRules
from broker.vault.origin_policy import WARNING_DETAIL
from core.audit.event import AuditEventKind
from core.db import Database, UnitOfWork
from core.directory.audit_trail import audit_change
from core.errors import NotFound

MAX_SITES = 100


@dataclass(frozen=True, slots=True)
class ConnectedAccount:
    """The account is used from now on. `kept` says that the vendor granted less than there was before, so that the
    grant before was kept."""

    flow: ConnectFlow
    account: str
    kept_previous: bool = False


@dataclass(frozen=True, slots=True)
class PendingConfirmation:
    """The person has something to decide on a page first."""

    flow: ConnectFlow


@dataclass(frozen=True, slots=True)
class ConfirmationPrompt:
    """Contents of the confirmation page.

    `before` are the names of the accounts that would be replaced ("" where one has none); `untold` is set where it is
    unknown whether one of them is the same. `role` is the role that it is shared with, or ""; `sites` are two or more.
    """

    flow: ConnectFlow
    role: str
    account: str
    replaced_accounts: tuple[str, ...]
    identity_unknown: bool
    sites: tuple["OfferedSite", ...]


@dataclass(frozen=True, slots=True)
class OfferedSite:
    """A site to choose. `missing_modules` are those of the flow that the grant does not reach there, as where a site
    has Jira but not Confluence."""

    id: str
    name: str
    url: str
    missing_modules: tuple[str, ...] = ()


ConnectOutcome = ConnectedAccount | PendingConfirmation


class GrantConfirmation:
    """The last steps, each in one transaction."""

    def __init__(
        self,
        database: Database,
        rows: AccountWriter,
        flows: ConnectFlowStore,
        book: ProviderRegistry,
        disconnecting: DisconnectService,
        services: AvailableServices,
    ) -> None:
        self._database = database
        self._services = services
        self._book = book
        self._rows = rows
        self._flows = flows
        self._disconnecting = disconnecting

    async def complete_or_prompt(
        self,
        session: Session,
        flow: ConnectFlow,
        account_id: UUID,
        whose: AccountIdentity,
        sites: Sequence[VendorSite],
        warning: str = "",
    ) -> ConnectOutcome:
        """Finish, unless there is something to ask. `warning` is what the owner had better do, as a fixed word."""
        sites = _merge_products(sites)[:MAX_SITES]
        details: dict[str, Any] = {
            **whose.details,
            "flow": str(flow.id),
            **({WARNING_DETAIL: warning} if warning else {}),
        }
        async with self._database.tenant(session.tenant_id) as work:
            provider = await self._book.find(work, flow.provider)
            own_scopes = {} if provider is None else {name: provider.modules.get(name) for name in flow.modules}
            details["sites"] = [
                [site.id, site.name or site.id, site.url, _find_missing_modules(site, own_scopes)] for site in sites
            ]
            await self._rows.describe(work, account_id, whose.id, whose.name or whose.id, details)
            pending = await self._rows.find_unconfirmed(work, flow)
            assert pending is not None
            if len(sites) > 1 or _list_other_accounts(
                await self._services.list_owner_credentials(work, flow.modules, flow.owner), pending
            ):
                return PendingConfirmation(flow)
        return await self._complete(session, flow, next((site.id for site in sites), ""))

    async def get_prompt(self, session: Session, flow_id: UUID) -> ConfirmationPrompt:
        """Return the open confirmation of a flow of this session.

        Raises:
            NotFound: there is none, or not for them.
        """
        async with self._database.tenant(session.tenant_id) as work:
            flow, pending, whom = await self._load_confirmable(work, session, flow_id)
            before = _list_other_accounts(
                await self._services.list_owner_credentials(work, flow.modules, flow.owner), pending
            )
        names = tuple(dict.fromkeys(credential.account for credential in before))
        sites, untold = (
            _parse_sites(pending.details),
            any(_is_same_account(credential, pending) is None for credential in before),
        )
        return ConfirmationPrompt(flow, whom.shared_with, pending.name, names, untold, sites if len(sites) > 1 else ())

    async def confirm(self, session: Session, flow_id: UUID, site: str) -> ConnectedAccount:
        """Go on with what the question was about; `site` where there was one to choose.

        Raises:
            NotFound: there is no such question, or no such site.
        """
        async with self._database.tenant(session.tenant_id) as work:
            flow, pending, _ = await self._load_confirmable(work, session, flow_id)
        sites = _parse_sites(pending.details)
        if sites and site not in {choice.id for choice in sites}:
            if len(sites) > 1 or site:
                raise NotFound("the site is not one of the available sites")
            site = next(choice.id for choice in sites)
        return await self._complete(session, flow, site)

    async def cancel(self, session: Session, flow_id: UUID) -> ConnectFlow:
        """Keep everything as it was and revoke the new grant.

        Raises:
            NotFound: there is no such question.
        """
        async with self._database.tenant(session.tenant_id) as work:
            flow, pending, _ = await self._load_pending(work, session, flow_id)
        await self.discard_grant(session, pending.id, "declined")
        return flow

    async def discard_grant(self, session: Session, account_id: UUID, cause: DisconnectCause) -> None:
        """Revoke a grant that will not be used."""
        await self._disconnecting.end_account(session.actor, session.tenant_id, account_id, cause, only=UNCONFIRMED)

    async def _complete(self, session: Session, flow: ConnectFlow, site_id: str) -> ConnectedAccount:
        async with self._database.tenant(session.tenant_id) as work:
            owner = flow.owner
            await self._rows.lock_owner(work, owner)
            pending = await self._rows.find_unconfirmed(work, flow)
            if pending is None:
                raise NotFound("this confirmation was already answered")
            before = await self._services.list_owner_credentials(work, flow.modules, owner)
            same = next((credential for credential in before if _is_same_grant(credential, flow, pending)), None)
            if same is not None and _grants_less(same, flow, pending):
                await delete_account(work, pending.id)  # and not at the vendor, where it may be the same grant
                return ConnectedAccount(flow, same.account, kept_previous=True)
            details = _build_details(pending.details, site_id)
            if same is None:
                account_id = await self._rows.activate(work, pending.id, details)
            else:
                rules = await self._load_refresh_rules(work, flow)
                account_id = await self._rows.renew(work, same, owner, pending, rules, details)
            await self._rows.link_credentials(work, _select_origins(flow, pending), owner, account_id, pending.name)
            remaining = [
                credential.account_id
                for credential in before
                if credential.account_id is not None and credential.account_id != account_id
            ]
            orphans = await self._rows.find_orphans(work, remaining)
            await _audit_connected(work, session, flow, account_id, pending.name)
        for orphan_id in orphans:
            await self._disconnecting.end_account(session.actor, session.tenant_id, orphan_id, "replaced")
        return ConnectedAccount(flow, pending.name)

    async def _load_refresh_rules(self, work: UnitOfWork, flow: ConnectFlow) -> RefreshRules:
        provider = await self._book.find(work, flow.provider)
        return RefreshRules() if provider is None or provider.oauth is None else provider.oauth.refresh

    async def _load_confirmable(
        self, work: UnitOfWork, session: Session, flow_id: UUID
    ) -> tuple[ConnectFlow, UnconfirmedAccount, ConnectSubject]:
        """An open question about a service that the person may still connect. To decline, no such right is needed."""
        flow, pending, whom = await self._load_pending(work, session, flow_id)
        if not self._services.is_available(whom, flow.modules[0]):
            raise NotFound("there is no pending confirmation")
        return flow, pending, whom

    async def _load_pending(
        self, work: UnitOfWork, session: Session, flow_id: UUID
    ) -> tuple[ConnectFlow, UnconfirmedAccount, ConnectSubject]:
        self._rows.require_adopted()
        flow = await self._flows.find_consumed(work, session, flow_id)
        pending = None if flow is None else await self._rows.find_unconfirmed(work, flow)
        whom = None if flow is None else await resolve_subject(work, session, flow.role_id)
        if flow is None or pending is None or whom is None:
            raise NotFound("there is no pending confirmation")
        return flow, pending, whom


def _is_same_grant(credential: StoredCredential, flow: ConnectFlow, pending: UnconfirmedAccount) -> bool:
    """Check whether the new grant is of the present account, by the same client; False if unknown."""
    return (
        credential.type == "oauth"
        and credential.provider == flow.provider
        and credential.oauth_client_id == flow.oauth_client_id
        and _is_same_account(credential, pending) is True
    )


def _is_same_account(credential: StoredCredential, pending: UnconfirmedAccount) -> bool | None:
    """Check whether both are the same vendor account; None if unknown. Of a key, only a name is known."""
    before, now = (
        (credential.vendor_account_id, pending.vendor_account_id)
        if credential.type == "oauth"
        else (credential.account, pending.name)
    )
    return before == now if before and now else None


def _list_other_accounts(before: Sequence[StoredCredential], pending: UnconfirmedAccount) -> list[StoredCredential]:
    """Those of the credentials that would be replaced which are of another vendor account, or may be."""
    return [credential for credential in before if _is_same_account(credential, pending) is not True]


def _grants_less(credential: StoredCredential, flow: ConnectFlow, pending: UnconfirmedAccount) -> bool:
    """Check whether the vendor granted less of the requested scopes than a working grant already has."""
    if credential.broken:
        return False
    return not set(credential.scopes) & set(flow.scopes) <= set(pending.scopes)


def _merge_products(sites: Sequence[VendorSite]) -> tuple[VendorSite, ...]:
    """Each site once: Atlassian lists it for each of its products, with the scopes of that product."""
    merged: dict[str, VendorSite] = {}
    for site in sites:
        before = merged.get(site.id)
        merged[site.id] = site if before is None else replace(before, scopes=(*before.scopes, *site.scopes))
    return tuple(merged.values())


def _find_missing_modules(site: VendorSite, own_scopes: Mapping[str, ModuleScopes | None]) -> list[str]:
    """The modules of which no scope counts at the site; none where the vendor names no scopes of it."""
    if not site.scopes:
        return []
    return [
        module
        for module, scopes in own_scopes.items()
        if scopes is not None and not {*scopes.reading, *scopes.writing} & {*site.scopes}
    ]


def _parse_sites(details: Mapping[str, Any]) -> tuple[OfferedSite, ...]:
    return tuple(
        OfferedSite(site_id, name, url, tuple(missing[0]) if missing else ())
        for site_id, name, url, *missing in details.get("sites", ())  # three of what an older version has asked
    )


def _select_origins(flow: ConnectFlow, pending: UnconfirmedAccount) -> Mapping[str, Sequence[str]]:
    bound: Mapping[str, Sequence[str]] = pending.details.get("origins", {})
    return {module: bound.get(module, ()) for module in flow.modules}


def _build_details(details: Mapping[str, Any], site_id: str) -> dict[str, Any]:
    remaining = {name: value for name, value in details.items() if name not in ("flow", "sites", "origins")}
    site = next((entry for entry in _parse_sites(details) if entry.id == site_id), None)
    return remaining if site is None else {**remaining, "site": site.id, "site_name": site.name, "site_url": site.url}


async def _audit_connected(work: UnitOfWork, session: Session, flow: ConnectFlow, account_id: UUID, name: str) -> None:
    detail = {"provider": flow.provider, "modules": " ".join(flow.modules), "account": name, **flow.owner.audit_details}
    await audit_change(work, session.actor, AuditEventKind.ACCOUNT_CONNECTED, credential=str(account_id), **detail)
