"""Connecting an account by OAuth: the start, the answer that the browser brings back, and what follows from it.

Who starts is who finishes, in the same browser session (threat-model.md §2, rows 4 and 5). Whatever does not fit is
refused before the vendor is asked and before anything is used up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from broker.connect.client_registration import AutomaticClientRegistration, build_redirect_uri
from broker.connect.code_exchange import CodeExchange
from broker.connect.confirmation import ConnectOutcome
from broker.connect.flow_store import ConnectFlow, ConnectFlowStore, NewConnectFlow
from broker.connections.available_services import AvailableServices, ConnectSubject, resolve_subject
from broker.connections.connect_methods import (
    ACCESS_DENIED,
    ConnectError,
    ConnectMethod,
    RequiredTools,
    ScopeRequest,
    audit_refusal,
    build_method_scope_request,
    classify_callback_error,
)
from broker.connections.credential_origins import resolve_module_origins
from broker.connections.oauth_client_store import SealedOAuthClient
from broker.identity.browser_sessions import Session
from broker.oauth_client.requests import build_authorize_url, build_install_url, get_expected_issuer
from broker.oauth_client.types import OAuthClientConfig
from broker.providers.catalogue import ProviderRegistry
from broker.providers.schema import Provider
from core.db import Database, UnitOfWork
from core.errors import NotFound
from core.secret import Secret

MAX_CODE_LENGTH = 4_096
INSTALL_REQUESTED = "request"
"""``setup_action`` of a person who may not install the app and has asked an owner to."""
SETUP_ACTIONS = ("install", "update", INSTALL_REQUESTED)


@dataclass(frozen=True, slots=True)
class ConnectRequest:
    """Choices of a person on the connect page.

    `also` are other modules of the same grant, `writing` requests the scopes of tools that write, `install` begins with
    the installation of the vendor's app, `next` is the page to return to afterwards.
    """

    module: str
    provider: str
    role_id: UUID | None = None
    also: frozenset[str] = frozenset()
    writing: bool = False
    install: bool = False
    next: str = ""


@dataclass(frozen=True, slots=True)
class ConsentDeclined:
    """The person declined at the vendor; nothing has changed."""

    flow: ConnectFlow


class ConnectAuthorization:
    """The flow, for all tenants."""

    def __init__(
        self,
        database: Database,
        public_url: str,
        *,
        services: AvailableServices,
        flows: ConnectFlowStore,
        book: ProviderRegistry,
        redeeming: CodeExchange,
        introductions: AutomaticClientRegistration,
    ) -> None:
        self._database = database
        self._public_url = public_url
        self._services = services
        self._flows = flows
        self._book = book
        self._redeeming = redeeming
        self._introductions = introductions

    async def begin(self, session: Session, connect_request: ConnectRequest) -> str:
        """Keep a flow for this session; the URL that the browser is sent to.

        Raises:
            NotFound: there is no such module for the person, or no such way to connect it.
            ConnectError: we had to become a client of the vendor first, and it does not let us; or the service is
                set to an address that the provider's tokens are not for.
            broker.vault.vault.NotAdopted: this is a copy of the deployment.
        """
        self._redeeming.require_adopted()
        begun = await self._prepare_redirect(session, connect_request)
        if isinstance(begun, str):
            return begun
        try:
            await self._introductions.ensure_registered(session.actor, session.tenant_id, begun)
        except ConnectError as refused:
            refused.module = connect_request.module
            raise await self._audit_refusal(session, refused, begun.id) from None
        begun = await self._prepare_redirect(session, connect_request)
        if not isinstance(begun, str):
            raise NotFound("this way to connect the service is no longer available")
        return begun

    async def _prepare_redirect(self, session: Session, connect_request: ConnectRequest) -> str | Provider:
        """Build the redirect to the vendor, or return the provider that MCPist must register with first."""
        async with self._database.tenant(session.tenant_id) as work:
            whom = await resolve_subject(work, session, connect_request.role_id)
            service = (
                None if whom is None else await self._services.find_for_subject(work, whom, connect_request.module)
            )
            if whom is None or service is None:
                raise NotFound("there is no such service for you")
            way = _find_oauth_method(service.methods, connect_request.provider)
            provider, client = way.provider, way.client
            assert provider is not None
            if client is None:
                return provider
            also = [
                required_tools
                for required_tools in way.optional_tools
                if required_tools.module.name in connect_request.also
            ]
            needs = (service.required_tools, *way.joined_tools, *also)
            await resolve_module_origins(
                work, provider, client.settings, [required_tools.module for required_tools in needs]
            )
            what = build_method_scope_request(way, service.required_tools, also, writing=connect_request.writing)
            account_id = service.own and service.own.account_id
            return await self._begin_flow(
                work, session, connect_request, whom, provider, client, needs, what, account_id
            )

    async def handle_callback(
        self, session: Session, provider_id: str, answer: Mapping[str, str]
    ) -> ConnectOutcome | ConsentDeclined:
        """Take the answer that the browser has brought back from a provider.

        Raises:
            ConnectError: it is not the answer to a flow of this session, or the vendor gave no usable grant.
            broker.vault.vault.NotAdopted: this is a copy of the deployment; nothing is used up.
        """
        self._redeeming.require_adopted()
        state = Secret(answer.get("state", "")[:200])
        flow = await self._flows.find(session, provider_id, state)
        if flow is None:
            raise await self._audit_refusal(session, ConnectError("connect_unknown", "state"), provider_id)
        issuer = answer.get("iss")
        if not await self._is_expected_issuer(session, flow, issuer):
            raise await self._audit_refusal(session, ConnectError("connect_issuer", "issuer"), provider_id)
        flow = await self._flows.consume(session, provider_id, state)
        if flow is None:  # another request was first in this very moment
            raise await self._audit_refusal(session, ConnectError("connect_unknown", "used"), provider_id)
        try:
            return await self._process_answer(session, flow, answer)
        except ConnectError as refused:
            refused.role_id = flow.role_id
            raise

    async def _process_answer(
        self, session: Session, flow: ConnectFlow, answer: Mapping[str, str]
    ) -> ConnectOutcome | ConsentDeclined:
        if "error" in answer:
            if answer["error"] == ACCESS_DENIED:
                return ConsentDeclined(flow)
            raise await self._audit_refusal(
                session, await self._build_error(session, flow, answer["error"]), flow.provider
            )
        code = answer.get("code", "")
        if not code and answer.get("setup_action") == INSTALL_REQUESTED:
            raise ConnectError("connect_install_requested", "install_requested", module=flow.modules[0])
        if not 1 <= len(code) <= MAX_CODE_LENGTH:
            raise ConnectError("connect_code", "code", module=flow.modules[0])
        return await self._redeeming.redeem(session, flow, Secret(code))

    async def _begin_flow(
        self,
        work: UnitOfWork,
        session: Session,
        connect_request: ConnectRequest,
        whom: ConnectSubject,
        provider: Provider,
        client: SealedOAuthClient,
        needs: Sequence[RequiredTools],
        what: ScopeRequest,
        account_id: UUID | None,
    ) -> str:
        client_config = OAuthClientConfig(client.client_id, None, client.auth_method, client.settings)
        scopes = what.scopes
        back = build_redirect_uri(self._public_url, provider.id)
        new = NewConnectFlow(
            provider=provider.id,
            oauth_client_id=client.id,
            modules=tuple(required_tools.module.name for required_tools in needs),
            role_id=whom.owner.role_id,
            account_id=account_id,
            issuer=get_expected_issuer(provider, client_config),
            scopes=scopes,
            redirect_uri=back,
            next=connect_request.next,
        )
        if connect_request.install:  # its page has no place for a challenge; the code is bound to our secret
            begun = await self._flows.begin(work, session, new, pkce=False)
            return build_install_url(provider, client_config, state=begun.state.reveal())
        pkce = provider.oauth is not None and provider.oauth.pkce == "S256"
        begun = await self._flows.begin(work, session, new, pkce=pkce)
        state = begun.state.reveal()
        return build_authorize_url(
            provider, client_config, redirect_uri=back, state=state, scopes=scopes, verifier=begun.verifier
        )

    async def _is_expected_issuer(self, session: Session, flow: ConnectFlow, issuer: str | None) -> bool:
        """Check whether the response names the expected issuer (RFC 9207 §2.4): byte for byte, on errors too."""
        async with self._database.tenant(session.tenant_id) as work:
            provider = await self._book.find(work, flow.provider)
        required = provider is None or provider.oauth is None or provider.oauth.issuer_required
        if issuer is None:
            return not required
        return not flow.issuer or issuer == flow.issuer

    async def _build_error(self, session: Session, flow: ConnectFlow, error: str) -> ConnectError:
        async with self._database.tenant(session.tenant_id) as work:
            provider = await self._book.find(work, flow.provider)
        key, cause = classify_callback_error(error)
        return ConnectError(key, cause, title=provider.title if provider else "", module=flow.modules[0])

    async def _audit_refusal(self, session: Session, refused: ConnectError, provider: str) -> ConnectError:
        return await audit_refusal(self._database, session, refused, provider)


def is_installation_notice(answer: Mapping[str, str]) -> bool:
    """Check whether a browser comes from an installation that was not begun here: it has no state. Nothing that it
    brings is used: whoever made the link could have chosen it, the ``installation_id`` too."""
    return not answer.get("state") and answer.get("setup_action") in SETUP_ACTIONS


def _find_oauth_method(ways: Sequence[ConnectMethod], provider: str) -> ConnectMethod:
    method = next(
        (
            candidate
            for candidate in ways
            if candidate.kind == "oauth" and candidate.provider and candidate.provider.id == provider
        ),
        None,
    )
    if method is None:
        raise NotFound("this way to connect the service is not available")
    return method
