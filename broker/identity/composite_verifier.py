"""Verifier that selects the implementation by the kind of credential."""

from collections.abc import Sequence
from uuid import UUID

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

    async def verify_again(self, tenant_id: UUID, tokens: Sequence[Secret]) -> Sequence[Credential | None]:
        """See :class:`broker.interface.Verifier`."""
        found = list[Credential | None]([None]) * len(tokens)
        jwts = [number for number, token in enumerate(tokens) if is_jwt(token.reveal())]
        others = sorted(set(range(len(tokens))).difference(jwts))
        for verifier, numbers in ((self._api_tokens, others), (self._jwts, jwts)):
            if verifier is not None and numbers:
                verdicts = await verifier.verify_again(tenant_id, [tokens[number] for number in numbers])
                for number, verdict in zip(numbers, verdicts, strict=True):
                    found[number] = verdict
        return found
