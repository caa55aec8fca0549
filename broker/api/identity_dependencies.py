"""Dependencies of the identity routes of the admin API."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Protocol

from fastapi import Depends, Request

from broker.authorization_server.access_tokens import AccessTokenGrant
from broker.authorization_server.grants import Grants
from broker.authorization_server.registered_clients import RegisteredClients
from broker.authorization_server.trusted_issuers import TrustedIssuers
from broker.identity.api_tokens import ApiTokens
from broker.identity.browser_sessions import Sessions
from broker.identity.identities import Identities
from broker.identity.one_time_links import OneTimeLinks
from broker.identity.provider_registry import ListedProvider
from broker.identity.scim_tokens import ScimTokens
from broker.mandates.mandates import Mandates
from broker.notifications.preferences import NotificationPreferences
from core.secret import Secret


class AccessTokenMinter(Protocol):
    """Issues access tokens."""

    async def mint(self, grant: AccessTokenGrant, now: datetime) -> tuple[Secret, int]:
        """Issue a token for a grant; return it with its lifetime in seconds."""
        ...


@dataclass(frozen=True, slots=True)
class IdentityDependencies:
    """The services of identity. `access_tokens` are those of our own authorization server, None where another one
    issues them, and `resource` is what they are for: the URL of the MCP endpoint. `list_providers` gives the
    identity providers that people can sign in at now."""

    tokens: ApiTokens
    sessions: Sessions
    grants: Grants
    clients: RegisteredClients
    links: OneTimeLinks
    identities: Identities
    issuers: TrustedIssuers
    notifications: NotificationPreferences
    scim_tokens: ScimTokens
    mandates: Mandates
    list_providers: Callable[[], Awaitable[Sequence[ListedProvider]]]
    access_tokens: AccessTokenMinter | None = None
    resource: str = ""


async def _get_dependencies(request: Request) -> IdentityDependencies:
    return request.app.state.identity


IdentityDeps = Annotated[IdentityDependencies, Depends(_get_dependencies)]
