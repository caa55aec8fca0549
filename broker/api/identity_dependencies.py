"""Dependencies of the identity routes of the admin API."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from broker.authorization_server.grants import Grants
from broker.authorization_server.registered_clients import RegisteredClients
from broker.authorization_server.trusted_issuers import TrustedIssuers
from broker.identity.api_tokens import ApiTokens
from broker.identity.browser_sessions import Sessions
from broker.identity.identities import Identities
from broker.identity.one_time_links import OneTimeLinks
from broker.identity.scim_tokens import ScimTokens
from broker.notifications.preferences import NotificationPreferences


@dataclass(frozen=True, slots=True)
class IdentityDependencies:
    """The services of identity."""

    tokens: ApiTokens
    sessions: Sessions
    grants: Grants
    clients: RegisteredClients
    links: OneTimeLinks
    identities: Identities
    issuers: TrustedIssuers
    notifications: NotificationPreferences
    scim_tokens: ScimTokens


async def _get_dependencies(request: Request) -> IdentityDependencies:
    return request.app.state.identity


IdentityDeps = Annotated[IdentityDependencies, Depends(_get_dependencies)]
