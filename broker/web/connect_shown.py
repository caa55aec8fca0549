"""What the pages of connecting show of a service: plain values for the templates."""

from collections.abc import Mapping, Sequence
from typing import Any

from broker.connect.addresses import redirect_uri
from broker.connect.held import Held
from broker.connect.offers import wanted
from broker.connect.services import Service, Way

CAUSES = frozenset({"revoked", "expired", "lost_rotation", "scope", "account_disabled", "interaction", "rejected"})


def shown_services(services: Sequence[Service]) -> Mapping[str, Any]:
    """The list: one entry a service, and how many are not connected."""
    entries = [
        {
            "name": one.needs.module.name,
            "title": one.needs.module.title,
            "own": _held(one.own),
            "shared": _held(next(iter(one.shared), None)),
            "state": "none" if one.counts is None else one.counts.state,
        }
        for one in services
    ]
    return {"services": entries, "open": sum(one["state"] != "connected" for one in entries)}


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
            {"title": one.title, "id": one.id, "redirect_uri": redirect_uri(public_url, one.id)}
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
    }
    if provider is None or asked is None:
        return shown
    more = wanted(provider, (service.needs,), writing=True)
    granted = service.own is not None and service.own.provider == provider.id and service.own.state == "connected"
    return shown | {
        "scopes": asked.scopes,
        "more_scopes": tuple(one for one in more.scopes if one not in asked.scopes),
        "offers_writing": asked.offers_writing,
        "writing": not asked.offers_writing,
        "again": granted,
        "also": [{"name": one.module.name, "title": one.module.title} for one in way.also],
        "manage_url": _link(provider.manage_url),
    }


def _link(url: str | None) -> str:
    """A page of a vendor's; none where it depends on a setting."""
    return "" if url is None or "{" in url else url
