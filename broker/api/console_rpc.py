"""Broker's side of the wire to a control plane in a process of its own. It hands out no credential: it says who
somebody is, ends accounts, tells how connections stand, and permits that a job is run once more."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request

from broker.api import console_messages as messages
from broker.interface import JobRetries, RefusalReason
from broker.rpc.app import RpcApp
from broker.rpc.service_token import ServiceTokenVerifier
from core.api.principal import PASSIVE_REQUEST, AuthenticationRequired, RequestAuthenticator
from core.connection_state import UserConnectionReader
from core.directory.account_revocation import AccountRevoker
from core.directory.scim import ScimCaller
from core.errors import LimitReached
from core.observability.tracing import NOOP_TRACER, Tracer
from core.secret import Secret


@dataclass(frozen=True, slots=True)
class ConsoleServices:
    """The trust zone's services that a control plane may ask for."""

    authenticate: RequestAuthenticator
    verify_scim_token: Callable[[Secret], Awaitable[ScimCaller | None]]
    revoke_accounts: AccountRevoker
    read_connections: UserConnectionReader
    retries: JobRetries


def build_console_rpc(services: ConsoleServices, tokens: ServiceTokenVerifier, tracer: Tracer = NOOP_TRACER) -> RpcApp:
    """Build the application of :data:`broker.api.console_messages.CONSOLE_PATHS`; `tokens` knows control planes only,
    because a gateway may ask for nothing here."""

    async def check(body: bytes) -> bytes:
        messages.decode_message(body, messages.CheckRequest)
        return messages.encode_message(messages.ConsoleResponse())

    async def authenticate(body: bytes) -> bytes:
        request = messages.decode_message(body, messages.AuthenticationRequest)

        async def answer(sender: Request) -> messages.ConsoleResponse:
            return messages.ConsoleResponse(principal=await services.authenticate(sender))

        return messages.encode_message(await _answer_sender(request, answer))

    async def verify_scim_token(body: bytes) -> bytes:
        request = messages.decode_message(body, messages.ScimRequest)
        caller = await services.verify_scim_token(Secret(request.token))
        return messages.encode_message(messages.ConsoleResponse(scim_caller=caller))

    async def revoke(body: bytes) -> bytes:
        request = messages.decode_message(body, messages.RevocationRequest)
        revoked = await services.revoke_accounts(
            request.actor, request.tenant_id, user_id=request.user_id, role_id=request.role_id
        )
        return messages.encode_message(messages.ConsoleResponse(revoked=list(revoked)))

    async def connections(body: bytes) -> bytes:
        request = messages.decode_message(body, messages.ConnectionsRequest)
        found = await services.read_connections(request.tenant_id, request.user_id)
        return messages.encode_message(messages.ConsoleResponse(connections=dict(found)))

    async def permit_retry(body: bytes) -> bytes:
        request = messages.decode_message(body, messages.RetryRequest)

        async def answer(sender: Request) -> messages.ConsoleResponse:
            permitted = await services.retries.permit_retry(sender, request.job)
            if isinstance(permitted, RefusalReason):
                return messages.ConsoleResponse(no_mandate=permitted)
            return messages.ConsoleResponse(mandate_id=permitted)

        return messages.encode_message(await _answer_sender(request.sender, answer))

    handlers = {
        messages.CHECK: check,
        messages.AUTHENTICATE: authenticate,
        messages.SCIM: verify_scim_token,
        messages.REVOKE: revoke,
        messages.CONNECTIONS: connections,
        messages.RETRY: permit_retry,
    }
    return RpcApp(handlers, tokens, tracer=tracer)


async def _answer_sender(
    request: messages.AuthenticationRequest, answer: Callable[[Request], Awaitable[messages.ConsoleResponse]]
) -> messages.ConsoleResponse:
    """Answer about whoever sent a request of the admin API."""
    headers = [(b"authorization", value.encode("latin-1", "replace")) for value in request.authorization]
    headers += [(b"cookie", value.encode("latin-1", "replace")) for value in request.cookie]
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "query_string": b"",
        "headers": headers,
        "client": (request.address, 0),
        PASSIVE_REQUEST: request.passive,
    }
    try:
        return await answer(Request(scope))
    except AuthenticationRequired as error:
        refusal = messages.Refusal("unauthenticated", str(error))
    except LimitReached as error:
        refusal = messages.Refusal("limit_reached", str(error), error.retry_after)
    return messages.ConsoleResponse(refused=refusal)
