"""The control plane's side of the wire to the broker. It holds its own key and nothing of the broker's."""

import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import NoReturn
from uuid import UUID

import aiohttp
import msgspec
from starlette.requests import Request

from broker.api import console_messages as messages
from broker.interface import BrokerProblem, JobToRetry, RefusalReason
from broker.rpc.rpc_client import RpcClient, open_rpc_session
from broker.rpc.service_token import ServiceTokenSigner
from core.api.principal import PASSIVE_REQUEST, AuthenticationRequired, Principal
from core.connection_state import UserConnection
from core.directory.account_revocation import RevocationResult
from core.directory.audit_trail import Actor
from core.directory.scim import ScimCaller
from core.errors import LimitReached
from core.observability.tracing import NOOP_TRACER, Tracer
from core.secret import Secret

REVOKE_SECONDS = 30.0
"""Vendors are asked meanwhile; the broker itself gives them 20 s."""


class ConsoleBroker:
    """The broker as a control plane in a process of its own asks it; `session` is for everything that goes there, and
    `base_url` is where its pages are, too."""

    def __init__(self, rpc: RpcClient, session: aiohttp.ClientSession, base_url: str) -> None:
        self._rpc = rpc
        self.session = session
        self.base_url = base_url

    @property
    def problem(self) -> BrokerProblem | None:
        """Return why the last request failed; None if it did not."""
        return self._rpc.problem

    async def check(self) -> None:
        """Make sure that the broker answers this control plane.

        Raises:
            core.errors.Unavailable: it does not; :attr:`problem` says why.
        """
        await self._ask(messages.CHECK, messages.CheckRequest())

    async def authenticate(self, request: messages.AuthenticationRequest) -> Principal:
        """Return whom a request of the admin API speaks for.

        Raises:
            AuthenticationRequired: nobody.
            LimitReached: its address has sent too many wrong credentials.
            core.errors.Unavailable: the broker is unavailable.
        """
        answer = await self._ask(messages.AUTHENTICATE, request)
        return answer.principal or _raise_refusal(answer)

    async def verify_scim_token(self, token: Secret) -> ScimCaller | None:
        """Return whom a SCIM token speaks for, or None."""
        return (await self._ask(messages.SCIM, messages.ScimRequest(token.reveal()))).scim_caller

    async def revoke_accounts(
        self, actor: Actor, tenant_id: UUID, *, user_id: UUID | None = None, role_id: UUID | None = None
    ) -> Sequence[RevocationResult]:
        """Implement :class:`core.directory.account_revocation.AccountRevoker`."""
        request = messages.RevocationRequest(actor, tenant_id, user_id, role_id)
        return (await self._ask(messages.REVOKE, request, seconds=REVOKE_SECONDS)).revoked or ()

    async def read_connections(self, tenant_id: UUID, user_id: UUID) -> Mapping[str, UserConnection]:
        """Implement :class:`core.connection_state.UserConnectionReader`."""
        answer = await self._ask(messages.CONNECTIONS, messages.ConnectionsRequest(tenant_id, user_id))
        return answer.connections or {}

    async def permit_retry(self, request: messages.RetryRequest) -> UUID | RefusalReason:
        """Return the mandate of a job that is run once more; raises as :class:`broker.interface.JobRetries` says."""
        answer = await self._ask(messages.RETRY, request)
        return answer.mandate_id or answer.no_mandate or _raise_refusal(answer)

    async def _ask(
        self, path: str, message: msgspec.Struct, *, seconds: float | None = None
    ) -> messages.ConsoleResponse:
        def decode(body: bytes) -> messages.ConsoleResponse:
            return messages.decode_message(body, messages.ConsoleResponse)

        return await self._rpc.ask(path, messages.encode_message(message), decode, seconds=seconds)


class RemoteAuthenticator:
    """Implements :class:`core.api.principal.RequestAuthenticator` by asking the broker at every request."""

    def __init__(self, broker: ConsoleBroker, get_client_address: Callable[[Request], str]) -> None:
        self._broker = broker
        self._get_client_address = get_client_address

    async def __call__(self, request: Request) -> Principal:
        """Return the principal; raises as the protocol says."""
        return await self._broker.authenticate(_describe_sender(request, self._get_client_address))


class RemoteJobRetries:
    """Implements :class:`broker.interface.JobRetries` by asking the broker."""

    def __init__(self, broker: ConsoleBroker, get_client_address: Callable[[Request], str]) -> None:
        self._broker = broker
        self._get_client_address = get_client_address

    async def permit_retry(self, request: Request, job: JobToRetry) -> UUID | RefusalReason:
        sender = _describe_sender(request, self._get_client_address)
        return await self._broker.permit_retry(messages.RetryRequest(sender, job))


def _describe_sender(request: Request, get_client_address: Callable[[Request], str]) -> messages.AuthenticationRequest:
    """Describe who sends a request, for the broker to find out whom it speaks for.

    Raises:
        AuthenticationRequired: it has no credential.
    """
    authorization, cookie = request.headers.getlist("authorization"), request.headers.getlist("cookie")
    if not authorization and not cookie:
        raise AuthenticationRequired("sign in, or send an API token as a bearer token")
    passive = bool(request.scope.get(PASSIVE_REQUEST, False))
    return messages.AuthenticationRequest(authorization, cookie, get_client_address(request), passive)


def _raise_refusal(answer: messages.ConsoleResponse) -> NoReturn:
    if answer.refused is not None and answer.refused.kind == "limit_reached":
        raise LimitReached(answer.refused.message, answer.refused.retry_after)
    raise AuthenticationRequired(answer.refused.message if answer.refused else "sign in")


@contextlib.asynccontextmanager
async def open_console_broker(
    url: str, key: ServiceTokenSigner, tracer: Tracer = NOOP_TRACER
) -> AsyncGenerator[ConsoleBroker]:
    """Open the way to the broker; `url` as in :func:`broker.rpc.rpc_client.open_rpc_session`."""
    async with open_rpc_session(url) as (base_url, session):
        yield ConsoleBroker(RpcClient(base_url, key, session, tracer), session, base_url)
