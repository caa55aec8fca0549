"""Exchange of an authorization code: its tokens are stored before the account that they belong to is fetched."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from broker.connect.account_writer import AccountWriter
from broker.connect.confirmation import ConnectOutcome, GrantConfirmation
from broker.connect.flow_store import ConnectFlow, ConnectFlowStore
from broker.connections.available_services import AvailableServices, resolve_subject
from broker.connections.connect_methods import ConnectError, audit_refusal, get_message_key
from broker.connections.credential_origins import resolve_module_origins
from broker.connections.oauth_client_store import OAuthClientStore, SealedOAuthClient
from broker.identity.browser_sessions import Session
from broker.oauth_client.types import OAuthClientConfig, TokenEndpointClient, TokenSet, VendorFailure
from broker.oauth_client.userinfo import AccountIdentity, UserinfoClient, VendorSite
from broker.providers import error_reasons
from broker.providers.catalogue import ProviderRegistry
from broker.providers.schema import Provider
from core.db import Database, UnitOfWork
from core.secret import Secret

CLIENT_ERRORS = frozenset({error_reasons.CLIENT_REFUSED, error_reasons.SECRET_EXPIRED})
"""What no person and no code of theirs can bring about."""

MISCONFIGURED = "misconfigured"


async def mark_client_refused(work: UnitOfWork, client: SealedOAuthClient, reason: str) -> None:
    """Note that the vendor does not take the client, unless it was changed meanwhile; its administrators are told once.
    Refreshes are not held up: one of them tries it next, and may find it good."""
    await work.execute(_REFUSED, client.id, client.version, reason)


async def mark_client_working(work: UnitOfWork, client: SealedOAuthClient) -> None:
    """Note that the vendor takes it, unless it was changed meanwhile."""
    await work.execute(_WORKS, client.id, client.version)


_REFUSED = """UPDATE vault.oauth_clients SET state = 'misconfigured', cause = left($4, 40), updated_at = vault.clock()
    WHERE tenant_id = $1 AND id = $2 AND version = $3 AND state = 'ok'"""
_WORKS = """UPDATE vault.oauth_clients SET state = 'ok', cause = '', breaker_until = NULL, breaker_failures = 0,
    updated_at = vault.clock() WHERE tenant_id = $1 AND id = $2 AND version = $3 AND state = 'misconfigured'"""


NO_REACH = "no_reach"
"""The warning of an account that reaches nothing."""


class CodeExchange:
    """From a code to an account that waits for its person, or is used at once."""

    def __init__(
        self,
        database: Database,
        *,
        services: AvailableServices,
        flows: ConnectFlowStore,
        clients: OAuthClientStore,
        book: ProviderRegistry,
        rows: AccountWriter,
        endpoint: TokenEndpointClient,
        vendor: UserinfoClient,
        finishing: GrantConfirmation,
    ) -> None:
        self._database = database
        self._services = services
        self._flows = flows
        self._clients = clients
        self._book = book
        self._rows = rows
        self._endpoint = endpoint
        self._vendor = vendor
        self._finishing = finishing

    async def redeem(self, session: Session, flow: ConnectFlow, code: Secret) -> ConnectOutcome:
        """Exchange the code of a consumed flow.

        Raises:
            ConnectError: the vendor gave no usable grant, or something has changed since the start.
        """
        context = await self._load_context(session, flow)
        provider, client = context.provider, context.client
        answer = await self._endpoint.redeem_code(provider, client, code, flow.redirect_uri, context.verifier)
        module = flow.modules[0]
        if isinstance(answer, VendorFailure):
            await self._record_client_failure(session, context.sealed_client, answer)
            refused = ConnectError(get_message_key(answer), answer.reason, title=provider.title, module=module)
            raise await audit_refusal(self._database, session, refused, flow.provider)
        account_id = await self._store_tokens(session, flow, context, answer.tokens)
        await self._record_client_working(session, context.sealed_client)
        try:
            identity, sites = await self._identify_account(provider, client, answer.tokens, module)
        except ConnectError:
            await self._finishing.discard_grant(session, account_id, "declined")
            raise
        reaches = await self._vendor.check_reach(provider, client.settings, answer.tokens.access_token)
        warning = NO_REACH if reaches is False else ""
        return await self._finishing.complete_or_prompt(session, flow, account_id, identity, sites, warning)

    def require_adopted(self) -> None:
        """Raises:
        broker.vault.vault.NotAdopted: this is a copy of the deployment, which tells no vendor anything.
        """
        self._rows.require_adopted()

    async def _record_client_failure(self, session: Session, client: SealedOAuthClient, failed: VendorFailure) -> None:
        if failed.reason in CLIENT_ERRORS:
            async with self._database.tenant(session.tenant_id) as work:
                await mark_client_refused(work, client, failed.reason)

    async def _record_client_working(self, session: Session, client: SealedOAuthClient) -> None:
        if client.state == MISCONFIGURED:
            async with self._database.tenant(session.tenant_id) as work:
                await mark_client_working(work, client)

    async def _identify_account(
        self, provider: Provider, client: OAuthClientConfig, tokens: TokenSet, module: str
    ) -> tuple[AccountIdentity, tuple[VendorSite, ...]]:
        identity = await self._vendor.fetch_account(provider, client.settings, tokens.access_token, tokens.extra)
        sites = await self._vendor.list_sites(provider, client.settings, tokens.access_token)
        for failed in (identity, sites):
            if isinstance(failed, VendorFailure):
                raise ConnectError("connect_away", failed.reason, title=provider.title, module=module)
        assert not isinstance(identity, VendorFailure)
        assert not isinstance(sites, VendorFailure)
        if provider.sites is not None and not sites:
            raise ConnectError("connect_no_site", title=provider.title, module=module)
        return identity or AccountIdentity("", ""), sites

    async def _load_context(self, session: Session, flow: ConnectFlow) -> "_ExchangeContext":
        """All that the exchange needs, before the code is shown to anybody. What the person may do is looked at once
        more: ten minutes are long."""
        async with self._database.tenant(session.tenant_id) as work:
            provider = await self._book.find(work, flow.provider)
            sealed_client = await self._clients.find(work, flow.oauth_client_id)
            whom = await resolve_subject(work, session, flow.role_id)
            if provider is None or provider.oauth is None or sealed_client is None or whom is None:
                raise ConnectError("connect_unknown", "gone")
            if await self._services.find_for_subject(work, whom, flow.modules[0]) is None:
                raise ConnectError("connect_unknown", "role")
            origins = await resolve_module_origins(
                work, provider, sealed_client.settings, self._services.get_manifests(flow.modules)
            )
            client = await self._clients.decrypt_client(work, sealed_client)
            return _ExchangeContext(
                provider, sealed_client, client, origins, await self._flows.decrypt_verifier(work, flow)
            )

    async def _store_tokens(
        self, session: Session, flow: ConnectFlow, context: "_ExchangeContext", tokens: TokenSet
    ) -> UUID:
        assert context.provider.oauth is not None
        try:
            async with self._database.tenant(session.tenant_id) as work:
                return await self._rows.store_unconfirmed(work, flow, context.provider.oauth, tokens, context.origins)
        except BaseException:  # a grant that nobody keeps must not live on at the vendor
            if flow.account_id is None:  # else it may be the very grant that the account before lives by
                await self._endpoint.revoke(
                    context.provider, context.client, access=tokens.access_token, refresh=tokens.refresh_token
                )
            raise


@dataclass(frozen=True, slots=True, repr=False)
class _ExchangeContext:
    provider: Provider
    sealed_client: SealedOAuthClient
    client: OAuthClientConfig
    origins: Mapping[str, Sequence[str]]
    verifier: Secret | None
