"""What an authorization code is redeemed for: tokens, stored before anything else, and then whose they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from broker.connect.accounts import AccountRows
from broker.connect.binding import bound_origins
from broker.connect.client_state import ITS_FAULT, MISCONFIGURED, client_refused, client_works
from broker.connect.finishing import Finishing, Outcome
from broker.connect.flows import Flow, Flows
from broker.connect.oauth_clients import Chosen, OAuthClients
from broker.connect.provider_book import ProviderBook
from broker.connect.refusals import ConnectRefused, key_of, refused_and_recorded
from broker.connect.services import Services, whom_of
from broker.identity.sessions import Session
from broker.providers.model import Provider
from broker.vendor_oauth.account import Found, Site, VendorAccounts
from broker.vendor_oauth.exchange import Failed, TokenEndpoint, Tokens, VendorClient
from core.db import Database
from core.secret import Secret

NO_REACH = "no_reach"
"""The warning of an account that reaches nothing."""


class Redeeming:
    """From a code to an account that waits for its person, or is used at once."""

    def __init__(
        self,
        database: Database,
        *,
        services: Services,
        flows: Flows,
        clients: OAuthClients,
        book: ProviderBook,
        rows: AccountRows,
        endpoint: TokenEndpoint,
        vendor: VendorAccounts,
        finishing: Finishing,
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

    async def redeem(self, session: Session, flow: Flow, code: Secret) -> Outcome:
        """Exchange the code of a flow that was just used up.

        Raises:
            ConnectRefused: the vendor gave no usable grant, or something has changed since the start.
        """
        held = await self._in_hand(session, flow)
        provider, client = held.provider, held.client
        answer = await self._endpoint.code(provider, client, code, flow.redirect_uri, held.verifier)
        module = flow.modules[0]
        if isinstance(answer, Failed):
            await self._client_failed(session, held.chosen, answer)
            refused = ConnectRefused(key_of(answer), answer.reason, title=provider.title, module=module)
            raise await refused_and_recorded(self._database, session, refused, flow.provider)
        account_id = await self._stored(session, flow, held, answer.tokens)
        await self._client_works(session, held.chosen)
        try:
            who, sites = await self._whose(provider, client, answer.tokens, module)
        except ConnectRefused:
            await self._finishing.forget(session, account_id, "declined")
            raise
        reaches = await self._vendor.reaches(provider, client.settings, answer.tokens.access)
        warning = NO_REACH if reaches is False else ""
        return await self._finishing.decide(session, flow, account_id, who, sites, warning)

    def check_original(self) -> None:
        """Raises:
        broker.vault.deployment_guard.NotAdopted: this is a copy of the deployment, which tells no vendor anything.
        """
        self._rows.check_original()

    async def _client_failed(self, session: Session, chosen: Chosen, failed: Failed) -> None:
        if failed.reason in ITS_FAULT:
            async with self._database.tenant(session.tenant_id) as work:
                await client_refused(work, chosen, failed.reason)

    async def _client_works(self, session: Session, chosen: Chosen) -> None:
        if chosen.state == MISCONFIGURED:
            async with self._database.tenant(session.tenant_id) as work:
                await client_works(work, chosen)

    async def _whose(
        self, provider: Provider, client: VendorClient, tokens: Tokens, module: str
    ) -> tuple[Found, tuple[Site, ...]]:
        who = await self._vendor.who(provider, client.settings, tokens.access, tokens.extra)
        sites = await self._vendor.sites(provider, client.settings, tokens.access)
        for failed in (who, sites):
            if isinstance(failed, Failed):
                raise ConnectRefused("connect_away", failed.reason, title=provider.title, module=module)
        assert not isinstance(who, Failed)
        assert not isinstance(sites, Failed)
        if provider.sites is not None and not sites:
            raise ConnectRefused("connect_no_site", title=provider.title, module=module)
        return who or Found("", ""), sites

    async def _in_hand(self, session: Session, flow: Flow) -> "_InHand":
        """All that the exchange needs, before the code is shown to anybody. What the person may do is looked at once
        more: ten minutes are long."""
        async with self._database.tenant(session.tenant_id) as work:
            provider = await self._book.find(work, flow.provider)
            chosen = await self._clients.find(work, flow.oauth_client_id)
            whom = await whom_of(work, session, flow.role_id)
            if provider is None or provider.oauth is None or chosen is None or whom is None:
                raise ConnectRefused("connect_unknown", "gone")
            if await self._services.of(work, whom, flow.modules[0]) is None:
                raise ConnectRefused("connect_unknown", "role")
            origins = await bound_origins(work, provider, chosen.settings, self._services.offered(flow.modules))
            client = await self._clients.opened(work, chosen)
            return _InHand(provider, chosen, client, origins, await self._flows.verifier(work, flow))

    async def _stored(self, session: Session, flow: Flow, held: "_InHand", tokens: Tokens) -> UUID:
        assert held.provider.oauth is not None
        try:
            async with self._database.tenant(session.tenant_id) as work:
                return await self._rows.store(work, flow, held.provider.oauth, tokens, held.origins)
        except BaseException:  # a grant that nobody keeps must not live on at the vendor
            if flow.account_id is None:  # else it may be the very grant that the account before lives by
                await self._endpoint.revoke(held.provider, held.client, access=tokens.access, refresh=tokens.refresh)
            raise


@dataclass(frozen=True, slots=True, repr=False)
class _InHand:
    provider: Provider
    chosen: Chosen
    client: VendorClient
    origins: Mapping[str, Sequence[str]]
    verifier: Secret | None
