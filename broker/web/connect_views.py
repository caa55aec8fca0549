"""Views of services for the connect pages: plain values for the templates."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from broker.connect.client_registration import build_redirect_uri
from broker.connections.available_services import AvailableService
from broker.connections.connect_methods import ConnectMethod, build_method_scope_request
from broker.connections.connection_status import HealthState, get_catalogue_word
from broker.connections.oauth_client_store import OAuthClient
from broker.connections.stored_credentials import StoredCredential
from broker.providers.templates import fill_url, resolve_settings
from core.connection_causes import CAUSES, WARNINGS
from core.errors import Invalid

EXPLAINED_PROVIDERS = frozenset({"github", "github_oauth_app"})
"""Providers between which an administrator has to choose: ``connect.unregistered.admin.<id>`` tells them apart."""
DISPLAY_STATES = {
    HealthState.REFRESHING: "refreshing",
    HealthState.REFUSED: "refused",
    HealthState.VENDOR_DOWN: "away",
    HealthState.SERVICE_MISCONFIGURED: "misconfigured",
}
"""What a person can do nothing about; besides there are connected, broken and none."""


def build_service_list(services: Sequence[AvailableService]) -> Mapping[str, Any]:
    """The list: one entry a service, and how many their person can connect."""
    entries = [
        {
            "name": service.required_tools.module.name,
            "title": service.required_tools.module.title,
            "own": _build_credential_view(service.own),
            "shared": _build_credential_view(next(iter(service.shared), None)),
            "state": get_display_state(service),
            "connectable": service.connectable,
        }
        for service in services
    ]
    return {"services": entries, "open": len(list_connectable_modules(services))}


def list_connectable_modules(services: Sequence[AvailableService]) -> list[str]:
    """The modules that somebody can connect now, and that nothing counts for, or something that they can mend."""
    return [
        service.required_tools.module.name
        for service in services
        if service.connectable and get_display_state(service) in ("none", "broken")
    ]


def get_display_state(service: AvailableService) -> str:
    """How the credential stands that a call uses."""
    if service.effective is None:
        return "none"
    return DISPLAY_STATES.get(service.effective.state, _get_page_state(service.effective))


def build_refused_client_views(clients: Sequence[OAuthClient], public_url: str) -> Sequence[Mapping[str, Any]]:
    """The OAuth clients that vendors refuse, for administrators."""
    return [
        {
            "provider": client.provider,
            "role": client.role,
            "cause": client.cause if client.cause in CAUSES else "other",
            "redirect_uri": build_redirect_uri(public_url, client.provider),
        }
        for client in clients
        if client.state == "misconfigured"
    ]


def build_shared_views(credentials: Sequence[StoredCredential], titles: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """Build the views of shared credentials, for an administrator."""
    return [
        {
            "module": credential.module,
            "title": titles[credential.module],
            "role_id": str(credential.role_id),
            **(_build_credential_view(credential) or {}),
        }
        for credential in credentials
    ]


def find_connected_title(
    module: str,
    services: Sequence[AvailableService],
    shared: Sequence[StoredCredential] = (),
    titles: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The title of a module that is connected for somebody, or by a role that they administer, "" for any other
    word."""
    for service in services:
        if service.required_tools.module.name == module and is_current("connected", service):
            return service.required_tools.module.title
    return titles[module] if any(service.module == module and not service.broken for service in shared) else ""


def is_current(done: str, service: AvailableService) -> bool:
    """Check the `done=` query parameter against stored state: anybody can write a URL."""
    if done in ("connected", "connected_less"):
        return service.own is not None and not service.own.broken
    return done not in ("disconnected", "removed") or service.own is None


def build_service_view(service: AvailableService, public_url: str) -> Mapping[str, Any]:
    """One service with the ways to connect it."""
    module = service.required_tools.module
    return {
        "name": module.name,
        "title": module.title,
        "reading": service.required_tools.read_tools,
        "writing": service.required_tools.write_tools,
        "own": _build_credential_view(service.own),
        "shared": [_build_credential_view(credential) for credential in service.shared],
        "ways": [_build_method_view(service, way) for way in service.methods],
        "lacking": service.missing_scopes,
        "unregistered": [
            {
                "title": credential.title,
                "id": credential.id,
                "redirect_uri": build_redirect_uri(public_url, credential.id),
                "explained": credential.id if credential.id in EXPLAINED_PROVIDERS else "",
            }
            for credential in service.unregistered_providers
        ],
    }


def _get_page_state(credential: StoredCredential) -> str:
    return "broken" if credential.broken else "connected"


def _build_credential_view(credential: StoredCredential | None) -> Mapping[str, Any] | None:
    if credential is None:
        return None
    return {
        "type": credential.type,
        "name": credential.account,
        "state": _get_page_state(credential),
        "cause": get_catalogue_word(credential.cause, credential.state),
        "role": credential.owner if credential.role_id else "",
        "site": str(credential.details.get("site_name", "")),
        "warning": credential.warning if credential.warning in WARNINGS else "",
        "scopes": credential.scopes,
        "provider": credential.provider,
    }


def _build_method_view(service: AvailableService, way: ConnectMethod) -> Mapping[str, Any]:
    provider, scope_request = way.provider, way.scope_request
    shown: dict[str, Any] = {
        "kind": way.kind,
        "provider": provider.id if provider else "",
        "title": provider.title if provider else service.required_tools.module.title,
        "help_url": _get_fixed_url(provider.key.help_url if provider and provider.key else None),
        "user_kind": provider.key.user_kind if provider and provider.key else None,
    }
    if provider is None or scope_request is None:
        return shown
    base = build_method_scope_request(way, service.required_tools, writing=False)
    more = build_method_scope_request(way, service.required_tools, writing=True)
    granted = service.own is not None and service.own.provider == provider.id and not service.own.broken
    return shown | {
        "scopes": base.scopes,
        "fixed_scopes": provider.oauth is not None and provider.oauth.fixed_scopes,
        "more_scopes": tuple(required_tools for required_tools in more.scopes if required_tools not in base.scopes),
        "offers_writing": scope_request.can_request_write,
        "writing": not scope_request.can_request_write,
        "again": granted,
        "joined": [required_tools.module.title for required_tools in way.joined_tools],
        "also": [
            {
                "name": required_tools.module.name,
                "title": required_tools.module.title,
                "adds": _list_added(
                    base.scopes,
                    build_method_scope_request(way, service.required_tools, [required_tools], writing=False).scopes,
                ),
                "taken": required_tools.module.name in way.connected_modules,
            }
            for required_tools in way.optional_tools
        ],
        "manage_url": _get_fixed_url(provider.manage_url),
        "reach_url": _build_reach_url(way),
        "installs": _has_install_page(way),
    }


def _has_install_page(way: ConnectMethod) -> bool:
    """Check whether the vendor's app can be installed and authorized in one step."""
    provider = way.provider
    if provider is None or provider.oauth is None or provider.oauth.install_url is None or way.client is None:
        return False
    try:
        return bool(fill_url(provider.oauth.install_url, resolve_settings(provider, way.client.settings)))
    except Invalid:
        return False


def _build_reach_url(way: ConnectMethod) -> str:
    """Where the person lets the grant reach something; where the vendor's app has no such page, all their apps."""
    provider = way.provider
    if provider is None or provider.reach is None:
        return ""
    try:
        values = resolve_settings(provider, way.client.settings if way.client else {})
    except Invalid:
        return ""
    return fill_url(provider.reach.help_url, values) or fill_url(provider.manage_url or "", values)


def _list_added(before: Sequence[str], now: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in now if name not in before)


def _get_fixed_url(url: str | None) -> str:
    """A page of a vendor's; none where it depends on a setting."""
    return "" if url is None or "{" in url else url
