"""The revocation endpoint (RFC 7009): a client gives its access back, with whichever of its tokens it names."""

from collections.abc import Mapping
from typing import Protocol
from uuid import UUID

from broker.authorization_server.authorization_request import drop_empty_parameters
from broker.authorization_server.errors import OAuthError
from broker.authorization_server.grants import Grants
from broker.authorization_server.token_endpoint import ClientAuthenticator
from core.secret import Secret

MAX_TOKEN_LENGTH = 8_192


class TokenLookup(Protocol):
    """Tells which grant an access token hangs on."""

    async def find_grant(self, token: Secret) -> tuple[UUID, UUID] | None: ...


class TokenRevocation:
    """Ends grants for their clients."""

    def __init__(self, authentication: ClientAuthenticator, grants: Grants, access_tokens: TokenLookup) -> None:
        self._authentication = authentication
        self._grants = grants
        self._access_tokens = access_tokens

    async def revoke(self, headers: Mapping[str, str], form: Mapping[str, str]) -> bool:
        """End the grant of a token: all tokens of it die. Whether there was one; the client is told nothing of that.

        A token that is not this client's, or no token at all, is no error (RFC 7009 §2.2).

        Raises:
            OAuthError: invalid_client, or invalid_request if there is no token.
        """
        given = drop_empty_parameters(form)
        client = await self._authentication.authenticate(headers, given)
        token = given.get("token")
        if token is None:
            raise OAuthError("invalid_request", "token is missing")
        found = await self._find_grant(Secret(token)) if len(token) <= MAX_TOKEN_LENGTH else None
        return found is not None and await self._grants.revoke_by_client(*found, client.id)

    async def _find_grant(self, token: Secret) -> tuple[UUID, UUID] | None:
        return await self._grants.find_grant(token) or await self._access_tokens.find_grant(token)
