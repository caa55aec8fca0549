"""Verifier that selects the implementation by the kind of credential."""

from broker.interface import CredentialRefusal, RefusalReason, Verifier
from core.caller import Credential
from core.secret import Secret
from core.token_format import is_jwt


class CompositeVerifier:
    """API tokens, and the JWTs of one authorization server: ours or another. Implements
    :class:`broker.interface.Verifier`."""

    def __init__(self, api_tokens: Verifier, jwts: Verifier | None = None) -> None:
        self._api_tokens = api_tokens
        self._jwts = jwts

    async def verify(self, token: Secret) -> Credential | CredentialRefusal:
        """See :class:`broker.interface.Verifier`."""
        if not is_jwt(token.reveal()):
            return await self._api_tokens.verify(token)
        if self._jwts is None:
            return CredentialRefusal(RefusalReason.UNKNOWN)
        return await self._jwts.verify(token)
