"""The providers that the settings name."""

from collections.abc import Iterable, Mapping

from broker.identity.providers.github import GitHubProvider
from broker.identity.providers.google import GoogleProfile
from broker.identity.providers.identity_provider import IdentityProvider
from broker.identity.providers.idp_client import IdpClient
from broker.identity.providers.microsoft import MicrosoftProfile
from broker.identity.providers.oidc import OidcProvider, StandardOidcProfile
from broker.identity.providers.provider_metadata import Clock
from broker.identity.settings import ProviderSettings


def build_identity_providers(
    settings: Iterable[ProviderSettings], outgoing: IdpClient, *, clock: Clock
) -> Mapping[str, IdentityProvider]:
    """The providers by their ids, in the order of the settings. None of them is asked anything yet."""
    return {one.id: _build_provider(one, outgoing, clock) for one in settings}


def _build_provider(settings: ProviderSettings, outgoing: IdpClient, clock: Clock) -> IdentityProvider:
    match settings.kind:
        case "github":
            return GitHubProvider(settings, outgoing)
        case "microsoft":
            return OidcProvider(settings, MicrosoftProfile(settings.base_url, settings.tenant), outgoing, clock=clock)
        case "google":
            return OidcProvider(settings, GoogleProfile(settings.issuer), outgoing, clock=clock)
        case "oidc":
            return OidcProvider(settings, StandardOidcProfile(settings.issuer), outgoing, clock=clock)
