"""The revocation endpoint (RFC 7009): a client gives its access back, with whichever of its tokens it names."""

from collections.abc import Mapping
from typing import Protocol
from uuid import UUID

from broker.oauth.authorization import said
from broker.oauth.errors import OAuthError
from broker.oauth.grants import Grants
from broker.oauth.token_endpoint import AuthenticatesClients
from core.secret import Secret

MOST_TOKEN = 8_192


class KnowsTokens(Protocol):
    """Tells which grant an access token hangs on."""

    async def grant_of(self, token: Secret) -> tuple[UUID, UUID] | None: ...


class Revocation:
    """Ends grants for their clients."""

    def __init__(self, authentication: AuthenticatesClients, grants: Grants, access_tokens: KnowsTokens) -> None:
        self._authentication = authentication
        self._grants = grants
        self._access_tokens = access_tokens

    async def revoke(self, headers: Mapping[str, str], form: Mapping[str, str]) -> bool:
        """End the grant of a token: all tokens of it die. Whether there was one; the client is told nothing of that.

        A token that is not this client's, or no token at all, is no error (RFC 7009 §2.2).

        Raises:
            OAuthError: invalid_client, or invalid_request if there is no token.
        """
        given = said(form)
        client = await self._authentication.authenticate(headers, given)
        token = given.get("token")
        if token is None:
            raise OAuthError("invalid_request", "token is missing")
        found = await self._grant(Secret(token)) if len(token) <= MOST_TOKEN else None
        return found is not None and await self._grants.revoke_by_client(*found, client.id)

    async def _grant(self, token: Secret) -> tuple[UUID, UUID] | None:
        return await self._grants.grant_of(token) or await self._access_tokens.grant_of(token)
