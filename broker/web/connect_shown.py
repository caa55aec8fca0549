"""What the pages of connecting show of a service: plain values for the templates."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any
from uuid import UUID

from broker.accounts.standing import Standing, State
from broker.connect.addresses import redirect_uri
from broker.connect.held import Held
from broker.connect.oauth_clients import OAuthClient
from broker.connect.redeeming import NO_REACH
from broker.connect.services import Service
from broker.connect.ways import Way, asked_of
from broker.providers.templates import filled_url, settings_of
from broker.vault.bounds import ELSEWHERE
from core.errors import Invalid

WARNINGS = frozenset({NO_REACH})
CAUSES = frozenset(
    {"revoked", "expired", "lost_rotation", "scope", "account_disabled", "interaction", "rejected", ELSEWHERE}
)
EXPLAINED = frozenset({"github", "github_oauth_app"})
"""Providers between which an administrator has to choose: ``connect.unregistered.admin.<id>`` tells them apart."""
CLIENT_CAUSES = frozenset({"client_refused", "secret_expired", "client_not_allowed", "scope_refused", "not_found"})
STATES = {
    State.REFRESHING: "refreshing",
    State.REFUSED: "refused",
    State.VENDOR_DOWN: "away",
    State.SERVICE_MISCONFIGURED: "misconfigured",
}
"""What a person can do nothing about; besides there are connected, broken and none."""


def shown_services(services: Sequence[Service], standings: Mapping[UUID | None, Standing]) -> Mapping[str, Any]:
    """The list: one entry a service, and how many their person can connect."""
    entries = [
        {
            "name": one.needs.module.name,
            "title": one.needs.module.title,
            "own": _held(one.own),
            "shared": _held(next(iter(one.shared), None)),
            "state": state_of(one, standings),
            "connectable": one.connectable,
        }
        for one in services
    ]
    return {"services": entries, "open": len(open_ones(services, standings))}


def open_ones(services: Sequence[Service], standings: Mapping[UUID | None, Standing]) -> list[str]:
    """The modules that somebody can connect now, and that nothing counts for, or something that they can mend."""
    return [
        one.needs.module.name for one in services if one.connectable and state_of(one, standings) in ("none", "broken")
    ]


def state_of(service: Service, standings: Mapping[UUID | None, Standing]) -> str:
    """How the credential stands that a call uses."""
    if service.counts is None:
        return "none"
    found = standings.get(service.counts.id)
    return service.counts.state if found is None else STATES.get(found.state, service.counts.state)


def shown_refused(clients: Sequence[OAuthClient], public_url: str) -> Sequence[Mapping[str, Any]]:
    """The OAuth clients that vendors refuse, for administrators."""
    return [
        {
            "provider": one.provider,
            "role": one.role,
            "cause": one.cause if one.cause in CLIENT_CAUSES else "other",
            "redirect_uri": redirect_uri(public_url, one.provider),
        }
        for one in clients
        if one.state == "misconfigured"
    ]


def shown_shared(held: Sequence[Held], titles: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """What roles share, for an administrator."""
    return [
        {"module": one.module, "title": titles[one.module], "role_id": str(one.role_id), **(_held(one) or {})}
        for one in held
    ]


def connected_title(
    module: str,
    services: Sequence[Service],
    shared: Sequence[Held] = (),
    titles: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The title of a module that is connected for somebody, or by a role that they administer, "" for any other
    word."""
    for one in services:
        if one.needs.module.name == module and is_so("connected", one):
            return one.needs.module.title
    return titles[module] if any(one.module == module and one.state == "connected" for one in shared) else ""


def is_so(done: str, service: Service) -> bool:
    """Whether what an address says was done is what there is: anybody can write an address."""
    if done in ("connected", "connected_less"):
        return service.own is not None and service.own.state == "connected"
    return done not in ("disconnected", "removed") or service.own is None


def shown_service(service: Service, public_url: str) -> Mapping[str, Any]:
    """One service with the ways to connect it."""
    module = service.needs.module
    return {
        "name": module.name,
        "title": module.title,
        "reading": service.needs.reading,
        "writing": service.needs.writing,
        "own": _held(service.own),
        "shared": [_held(one) for one in service.shared],
        "ways": [_way(service, way) for way in service.ways],
        "lacking": service.lacking,
        "unregistered": [
            {
                "title": one.title,
                "id": one.id,
                "redirect_uri": redirect_uri(public_url, one.id),
                "explained": one.id if one.id in EXPLAINED else "",
            }
            for one in service.unregistered
        ],
    }


def _held(held: Held | None) -> Mapping[str, Any] | None:
    if held is None:
        return None
    return {
        "type": held.type,
        "name": held.name,
        "state": held.state,
        "cause": held.cause if held.cause in CAUSES else "other",
        "role": held.role,
        "site": str(held.details.get("site_name", "")),
        "warning": held.warning if held.warning in WARNINGS else "",
        "scopes": held.scopes,
        "provider": held.provider,
    }


def _way(service: Service, way: Way) -> Mapping[str, Any]:
    provider, asked = way.provider, way.wanted
    shown: dict[str, Any] = {
        "kind": way.kind,
        "provider": provider.id if provider else "",
        "title": provider.title if provider else service.needs.module.title,
        "help_url": _link(provider.key.help_url if provider and provider.key else None),
        "user_kind": provider.key.user_kind if provider and provider.key else None,
    }
    if provider is None or asked is None:
        return shown
    base = asked_of(way, service.needs, writing=False)
    more = asked_of(way, service.needs, writing=True)
    granted = service.own is not None and service.own.provider == provider.id and service.own.state == "connected"
    return shown | {
        "scopes": base.scopes,
        "fixed_scopes": provider.oauth is not None and provider.oauth.fixed_scopes,
        "more_scopes": tuple(one for one in more.scopes if one not in base.scopes),
        "offers_writing": asked.offers_writing,
        "writing": not asked.offers_writing,
        "again": granted,
        "joined": [one.module.title for one in way.joined],
        "also": [
            {
                "name": one.module.name,
                "title": one.module.title,
                "adds": _added(base.scopes, asked_of(way, service.needs, [one], writing=False).scopes),
                "taken": one.module.name in way.taken,
            }
            for one in way.also
        ],
        "manage_url": _link(provider.manage_url),
        "reach_url": _reach_url(way),
    }


def _reach_url(way: Way) -> str:
    """Where the person lets the grant reach something; where the vendor's app has no such page, all their apps."""
    provider = way.provider
    if provider is None or provider.reach is None:
        return ""
    try:
        values = settings_of(provider, way.client.settings if way.client else {})
    except Invalid:
        return ""
    return filled_url(provider.reach.help_url, values) or filled_url(provider.manage_url or "", values)


def _added(before: Sequence[str], now: Sequence[str]) -> tuple[str, ...]:
    return tuple(one for one in now if one not in before)


def _link(url: str | None) -> str:
    """A page of a vendor's; none where it depends on a setting."""
    return "" if url is None or "{" in url else url
