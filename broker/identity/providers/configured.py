"""The providers that the settings name."""

from collections.abc import Iterable, Mapping

from broker.identity.providers.github import GitHubProvider
from broker.identity.providers.google import Google
from broker.identity.providers.metadata import Clock
from broker.identity.providers.microsoft import Microsoft
from broker.identity.providers.oidc import OidcProvider, Plain
from broker.identity.providers.outgoing import Outgoing
from broker.identity.providers.provider import Provider
from broker.identity.settings import ProviderSettings


def providers_of(settings: Iterable[ProviderSettings], outgoing: Outgoing, *, clock: Clock) -> Mapping[str, Provider]:
    """The providers by their ids, in the order of the settings. None of them is asked anything yet."""
    return {one.id: _provider(one, outgoing, clock) for one in settings}


def _provider(settings: ProviderSettings, outgoing: Outgoing, clock: Clock) -> Provider:
    match settings.kind:
        case "github":
            return GitHubProvider(settings, outgoing)
        case "microsoft":
            return OidcProvider(settings, Microsoft(settings.base_url, settings.tenant), outgoing, clock=clock)
        case "google":
            return OidcProvider(settings, Google(settings.issuer), outgoing, clock=clock)
        case "oidc":
            return OidcProvider(settings, Plain(settings.issuer), outgoing, clock=clock)
