"""Connecting an account by OAuth: the start, the answer that the browser brings back, and what follows from it.

Who starts is who finishes, in the same browser session (broker-security.md §2, rows 4 and 5). Whatever does not fit is
refused before the vendor is asked and before anything is used up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from broker.connect.addresses import redirect_uri
from broker.connect.binding import bound_origins
from broker.connect.finishing import Outcome
from broker.connect.flows import Flow, Flows, NewFlow
from broker.connect.introductions import Introductions
from broker.connect.oauth_clients import Chosen
from broker.connect.offers import Needs, Wanted
from broker.connect.provider_book import ProviderBook
from broker.connect.redeeming import Redeeming
from broker.connect.refusals import DECLINED, ConnectRefused, key_of_error, refused_and_recorded
from broker.connect.services import Services, Whom, whom_of
from broker.connect.ways import Way, asked_of
from broker.identity.sessions import Session
from broker.providers.model import Provider
from broker.vendor_oauth.authorize_url import authorize_url, expected_issuer
from broker.vendor_oauth.exchange import VendorClient
from core.db import Database, UnitOfWork
from core.errors import NotFound
from core.secret import Secret

MOST_CODE = 4_096


@dataclass(frozen=True, slots=True)
class Start:
    """What a person has chosen on the page. `also` are other modules of the same grant, `writing` asks for the scopes
    of tools that change something, `next` is where they go on afterwards."""

    module: str
    provider: str
    role_id: UUID | None = None
    also: frozenset[str] = frozenset()
    writing: bool = False
    next: str = ""


@dataclass(frozen=True, slots=True)
class Declined:
    """The person said no at the vendor; everything is as it was."""

    flow: Flow


class Connecting:
    """The flow, for all tenants."""

    def __init__(
        self,
        database: Database,
        public_url: str,
        *,
        services: Services,
        flows: Flows,
        book: ProviderBook,
        redeeming: Redeeming,
        introductions: Introductions,
    ) -> None:
        self._database = database
        self._public_url = public_url
        self._services = services
        self._flows = flows
        self._book = book
        self._redeeming = redeeming
        self._introductions = introductions

    async def start(self, session: Session, asked: Start) -> str:
        """Keep a flow for this session; the URL that the browser is sent to.

        Raises:
            NotFound: there is no such module for the person, or no such way to connect it.
            ConnectRefused: we had to become a client of the vendor first, and it does not let us; or the service is
                set to an address that the provider's tokens are not for.
            broker.vault.deployment_guard.NotAdopted: this is a copy of the deployment.
        """
        self._redeeming.check_original()
        begun = await self._start(session, asked)
        if isinstance(begun, str):
            return begun
        try:
            await self._introductions.introduce(session.actor, session.tenant_id, begun)
        except ConnectRefused as refused:
            refused.module = asked.module
            raise await self._refused(session, refused, begun.id) from None
        begun = await self._start(session, asked)
        if not isinstance(begun, str):
            raise NotFound("there is no such way to connect this service any more")
        return begun

    async def _start(self, session: Session, asked: Start) -> str | Provider:
        """Where the browser is sent, or the provider that we are no client of yet."""
        async with self._database.tenant(session.tenant_id) as work:
            whom = await whom_of(work, session, asked.role_id)
            service = None if whom is None else await self._services.of(work, whom, asked.module)
            if whom is None or service is None:
                raise NotFound("there is no such service for you")
            way = _way(service.ways, asked.provider)
            provider, client = way.provider, way.client
            assert provider is not None
            if client is None:
                return provider
            also = [one for one in way.also if one.module.name in asked.also]
            needs = (service.needs, *way.joined, *also)
            await bound_origins(work, provider, client.settings, [one.module for one in needs])
            what = asked_of(way, service.needs, also, writing=asked.writing)
            account_id = service.own and service.own.account_id
            return await self._begun(work, session, asked, whom, provider, client, needs, what, account_id)

    async def answer(self, session: Session, provider_id: str, answer: Mapping[str, str]) -> Outcome | Declined:
        """Take the answer that the browser has brought back from a provider.

        Raises:
            ConnectRefused: it is not the answer to a flow of this session, or the vendor gave no usable grant.
            broker.vault.deployment_guard.NotAdopted: this is a copy of the deployment; nothing is used up.
        """
        self._redeeming.check_original()
        state = Secret(answer.get("state", "")[:200])
        flow = await self._flows.see(session, provider_id, state)
        if flow is None:
            raise await self._refused(session, ConnectRefused("connect_unknown", "state"), provider_id)
        issuer = answer.get("iss")
        if not await self._is_from(session, flow, issuer):
            raise await self._refused(session, ConnectRefused("connect_issuer", "issuer"), provider_id)
        flow = await self._flows.take(session, provider_id, state)
        if flow is None:  # another request was first in this very moment
            raise await self._refused(session, ConnectRefused("connect_unknown", "used"), provider_id)
        try:
            return await self._taken(session, flow, answer)
        except ConnectRefused as refused:
            refused.role_id = flow.role_id
            raise

    async def _taken(self, session: Session, flow: Flow, answer: Mapping[str, str]) -> Outcome | Declined:
        if "error" in answer:
            if answer["error"] == DECLINED:
                return Declined(flow)
            raise await self._refused(session, await self._error(session, flow, answer["error"]), flow.provider)
        code = answer.get("code", "")
        if not 1 <= len(code) <= MOST_CODE:
            raise ConnectRefused("connect_code", "code", module=flow.modules[0])
        return await self._redeeming.redeem(session, flow, Secret(code))

    async def _begun(
        self,
        work: UnitOfWork,
        session: Session,
        asked: Start,
        whom: Whom,
        provider: Provider,
        client: Chosen,
        needs: Sequence[Needs],
        what: Wanted,
        account_id: UUID | None,
    ) -> str:
        ours = VendorClient(client.client_id, None, client.auth_method, client.settings)
        scopes = what.scopes
        back = redirect_uri(self._public_url, provider.id)
        new = NewFlow(
            provider=provider.id,
            oauth_client_id=client.id,
            modules=tuple(one.module.name for one in needs),
            role_id=whom.owner.role_id,
            account_id=account_id,
            issuer=expected_issuer(provider, ours),
            scopes=scopes,
            redirect_uri=back,
            next=asked.next,
        )
        pkce = provider.oauth is not None and provider.oauth.pkce == "S256"
        begun = await self._flows.begin(work, session, new, pkce=pkce)
        state = begun.state.reveal()
        return authorize_url(provider, ours, redirect_uri=back, state=state, scopes=scopes, verifier=begun.verifier)

    async def _is_from(self, session: Session, flow: Flow, issuer: str | None) -> bool:
        """Whether the answer names the issuer that was asked (RFC 9207 §2.4): byte for byte, on errors too."""
        async with self._database.tenant(session.tenant_id) as work:
            provider = await self._book.find(work, flow.provider)
        required = provider is None or provider.oauth is None or provider.oauth.issuer_required
        if issuer is None:
            return not required
        return not flow.issuer or issuer == flow.issuer

    async def _error(self, session: Session, flow: Flow, error: str) -> ConnectRefused:
        async with self._database.tenant(session.tenant_id) as work:
            provider = await self._book.find(work, flow.provider)
        key, cause = key_of_error(error)
        return ConnectRefused(key, cause, title=provider.title if provider else "", module=flow.modules[0])

    async def _refused(self, session: Session, refused: ConnectRefused, provider: str) -> ConnectRefused:
        return await refused_and_recorded(self._database, session, refused, provider)


def _way(ways: Sequence[Way], provider: str) -> Way:
    found = next((one for one in ways if one.kind == "oauth" and one.provider and one.provider.id == provider), None)
    if found is None:
        raise NotFound("there is no such way to connect this service")
    return found
