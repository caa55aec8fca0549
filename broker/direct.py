"""The broker in the gateway's own process: the same services, called directly."""

from broker.identity.api_tokens import ApiTokens
from broker.interface import Refused
from core.caller import Credential
from core.secret import Secret


class DirectBroker:
    """Implements :class:`broker.interface.Broker` on the broker's own database role."""

    def __init__(self, tokens: ApiTokens) -> None:
        self._tokens = tokens

    async def verify(self, token: Secret) -> Credential | Refused:
        return await self._tokens.verify(token)
