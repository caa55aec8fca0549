"""The test of an OAuth client at its provider: all that can be found out without a person in a browser."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from broker.connect.client_registration import build_redirect_uri
from broker.connect.code_exchange import CLIENT_ERRORS, mark_client_refused, mark_client_working
from broker.connections.oauth_client_store import OAuthClientStore, SealedOAuthClient
from broker.oauth_client.types import ErrorClass, TokenEndpointClient, TokenResult, VendorFailure
from broker.providers import error_reasons
from broker.providers.catalogue import ProviderRegistry
from broker.providers.schema import Provider
from core.db import Database
from core.errors import NotFound
from core.secret import Secret

TrialOutcome = Literal["ok", "failed", "unknown"]

_TEXTS = {
    error_reasons.CLIENT_REFUSED: "{title} refuses the client ID or its secret: register them anew",
    error_reasons.SECRET_EXPIRED: "{title} says that the client secret has expired: make a new one there and store it",
    error_reasons.CLIENT_NOT_ALLOWED: "{title} knows the client, but does not let it connect accounts",
    error_reasons.REDIRECT_URI_REFUSED: "{title} refuses the redirect URI: register {redirect_uri} there",
    error_reasons.SETTINGS: "a setting of the client is missing or wrong",
}
_WORKS = "{title} knows the client ID and accepts its secret"
_UNREACHABLE = "the token endpoint of {title} cannot be reached; try again later"
_UNKNOWN = "{title} does not tell whether the client is right: connect an account to find out"


@dataclass(frozen=True, slots=True)
class ClientTrialResult:
    """`cause` is one of :mod:`broker.providers.error_reasons`, '' where the client works or nothing is known. `message`
    is a text of ours; what a provider says is never shown."""

    outcome: TrialOutcome
    cause: str
    message: str


class OAuthClientTrial:
    """Tests stored clients. `require_adopted` raises where this is a copy of a deployment, which asks no vendor."""

    def __init__(
        self,
        database: Database,
        clients: OAuthClientStore,
        registry: ProviderRegistry,
        endpoint: TokenEndpointClient,
        public_url: str,
        *,
        require_adopted: Callable[[], None],
    ) -> None:
        self._database = database
        self._clients = clients
        self._registry = registry
        self._endpoint = endpoint
        self._public_url = public_url
        self._require_adopted = require_adopted

    async def run(self, tenant_id: UUID, row_id: UUID) -> ClientTrialResult:
        """Present a made-up code: a provider tells a client that it knows (`invalid_grant`) from another
        (`invalid_client`, RFC 6749 §5.2). The client's state is set by what it says.

        Raises:
            NotFound: the tenant has no such client.
            broker.vault.envelope.DecryptionError: it was changed in the database.
        """
        self._require_adopted()
        async with self._database.tenant(tenant_id) as work:
            sealed = await self._clients.find(work, row_id)
            provider = None if sealed is None else await self._registry.find(work, sealed.provider)
            if sealed is None or provider is None:
                raise NotFound("there is no such OAuth client; `mcpist oauth-client list` shows them")
            client = await self._clients.decrypt_client(work, sealed)
        code, verifier = Secret(secrets.token_urlsafe(32)), Secret(secrets.token_urlsafe(48))
        redirect_uri = build_redirect_uri(self._public_url, provider.id)
        answer = await self._endpoint.redeem_code(provider, client, code, redirect_uri, verifier)
        result = _judge_answer(answer, provider, redirect_uri)
        await self._record_state(tenant_id, sealed, result)
        return result

    async def _record_state(self, tenant_id: UUID, client: SealedOAuthClient, result: ClientTrialResult) -> None:
        if result.outcome != "ok" and result.cause not in CLIENT_ERRORS:
            return
        async with self._database.tenant(tenant_id) as work:
            if result.outcome == "ok":
                await mark_client_working(work, client)
            else:
                await mark_client_refused(work, client, result.cause)


def _judge_answer(answer: TokenResult, provider: Provider, redirect_uri: str) -> ClientTrialResult:
    texts = {"title": provider.title, "redirect_uri": redirect_uri}
    if not isinstance(answer, VendorFailure):
        return ClientTrialResult("unknown", "", _UNKNOWN.format_map(texts))
    if answer.error_class is ErrorClass.PERMANENT:  # said of the code, so the client was accepted
        return ClientTrialResult("ok", "", _WORKS.format_map(texts))
    if answer.reason in _TEXTS:
        return ClientTrialResult("failed", answer.reason, _TEXTS[answer.reason].format_map(texts))
    if answer.error_class in (ErrorClass.NOT_SENT, ErrorClass.THROTTLED, ErrorClass.UNCERTAIN):
        return ClientTrialResult("unknown", answer.reason, _UNREACHABLE.format_map(texts))
    return ClientTrialResult("unknown", answer.reason, _UNKNOWN.format_map(texts))
