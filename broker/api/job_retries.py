"""Mandates for jobs that their person has run once more, from the console or the admin API."""

from uuid import UUID

from starlette.requests import Request

from broker.interface import CredentialRefusal, JobToRetry, RefusalReason
from broker.mandates.mandate_service import MandateService
from core.api.principal import Principal, RequestAuthenticator
from core.caller import Credential
from core.scopes import MCP_SCOPES

_CREDENTIAL_KINDS = {"session": "session", "token": "api_token", "oauth": "oauth"}


class LocalJobRetries:
    """Implements :class:`broker.interface.JobRetries` in the broker's own process."""

    def __init__(self, authenticate: RequestAuthenticator, mandates: MandateService) -> None:
        self._authenticate = authenticate
        self._mandates = mandates

    async def permit_retry(self, request: Request, job: JobToRetry) -> UUID | RefusalReason:
        permitted = await self._mandates.permit_retry(_build_credential(await self._authenticate(request)), job)
        return permitted.reason if isinstance(permitted, CredentialRefusal) else permitted


def _build_credential(principal: Principal) -> Credential:
    """The credential of a request of the admin API, with what it may do at tools."""
    return Credential(
        id=principal.credential_id,
        kind=_CREDENTIAL_KINDS[principal.authentication_method],
        tenant_id=principal.tenant_id,
        user_id=principal.user_id,
        scopes=principal.scopes & MCP_SCOPES,
        client=principal.client,
    )
