"""Sign-in, from the button to the session. One start is one row and one use, in the browser that it was begun in.

What is secret of it (`state`, `nonce`, the PKCE verifier) is derived from the browser's own cookie, so an answer that
another browser brings, or another sign-in's, cannot even be asked about (threat-model.md §2 rows 4, 7 and 8).
"""

import hmac
import time
from collections.abc import Callable, Mapping
from uuid import UUID

from broker.identity.admission import Admission, AdmissionDenied
from broker.identity.browser_sessions import Session
from broker.identity.failed_sign_ins import FailedSignInLog
from broker.identity.identities import Identities
from broker.identity.one_time_links import LINK_METHOD, LinkTarget, OneTimeLinks
from broker.identity.provider_registry import IdentityProviderRegistry, ListedProvider
from broker.identity.providers.identity_provider import IdentityProvider, SignInFailed, SignInFlow, VerifiedAccount
from broker.identity.random_secrets import new_secret
from broker.identity.sign_in_state import (
    AccountLinkRequest,
    Browser,
    LinkedAccount,
    PendingSignIn,
    PendingSignIns,
    SignInRedirect,
    SignInRefused,
    SignInResult,
    TenantSelection,
    sanitize_return_to,
)
from core.concurrency.rate_limits import AttemptLimits
from core.db import Database
from core.errors import Conflict, LimitReached, NotFound
from core.secret import Secret

STARTS_PER_MINUTE, START_BURST = 60, 100
FAILURES_PER_MINUTE, FAILURE_BURST = 10, 20
GUESS_REASONS = frozenset({"other_browser", "expired"})
"""Of the reasons for a refusal, those that nobody has who does what they are told."""


class SignInService:
    """The sign-in of one deployment. `ticks` gives seconds that never go back."""

    def __init__(
        self,
        database: Database,
        providers: IdentityProviderRegistry,
        pending: PendingSignIns,
        admission: Admission,
        identities: Identities,
        links: OneTimeLinks,
        *,
        public_url: str,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._log = FailedSignInLog(database)
        self._providers = providers
        self._pending = pending
        self._admission = admission
        self._identities = identities
        self._links = links
        self._public_url = public_url
        self._starts = AttemptLimits(STARTS_PER_MINUTE, START_BURST, clock=ticks)
        self._failures = AttemptLimits(FAILURES_PER_MINUTE, FAILURE_BURST, clock=ticks)

    async def list_providers(self) -> list[ListedProvider]:
        """The providers that people can sign in at now.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        return await self._providers.list()

    async def start(
        self, provider_id: str, next_path: str, browser: Browser, *, session: Session | None = None
    ) -> SignInRedirect:
        """Begin a sign-in; with `session`, to tie one more account to its user.

        Raises:
            NotFound: there is no such provider.
            SignInRefused: the provider is away.
            LimitReached: too many starts from this address.
        """
        provider = await self._get_provider(provider_id)
        _check_limit(self._starts, browser)
        self._starts.record_failure(browser.address)
        flow = self._build_flow(provider, new_secret())
        try:
            url = await provider.start(flow)
        except SignInFailed as failed:
            raise SignInRefused(failed.failure, provider.label) from None
        tying = AccountLinkRequest(session.tenant_id, session.user_id, session.id) if session else None
        await self._pending.begin(flow.binding, provider.id, sanitize_return_to(next_path), tying)
        return SignInRedirect(url, flow.binding)

    async def handle_callback(
        self,
        provider_id: str,
        binding: Secret | None,
        query: Mapping[str, str],
        browser: Browser,
        *,
        session: Session | None = None,
    ) -> SignInResult | TenantSelection | LinkedAccount:
        """Handle the callback of an identity provider. `session` is the browser's current session, if any.

        Raises:
            NotFound: there is no such provider.
            SignInRefused: nobody is signed in, and why.
            LimitReached: too many failures from this address.
        """
        provider = await self._get_provider(provider_id)
        _check_limit(self._failures, browser)
        try:
            return await self._complete(provider, binding, query, browser, session)
        except SignInRefused as refused:
            if refused.key in GUESS_REASONS:
                self._failures.record_failure(browser.address)
            raise

    async def list_choices(self, binding: Secret | None) -> TenantSelection:
        """Return the users and tenants that a pending sign-in can choose from.

        Raises:
            SignInRefused: it is over, or nobody lets the person in any more.
        """
        pending = await self._pending.find_verified(binding) if binding else None
        if pending is None:
            raise SignInRefused("expired")
        choices = await self._admission.list_choices(pending.account)
        if isinstance(choices, AdmissionDenied):
            label = await self._get_label(pending.provider)
            raise SignInRefused(choices.reason, label, pending.account.email)
        return TenantSelection(pending.account.email, choices)

    async def choose_tenant(self, binding: Secret | None, tenant_id: UUID, browser: Browser) -> SignInResult:
        """Go on in one of several tenants; a choice counts once.

        Raises:
            SignInRefused: the sign-in is over, or the tenant does not let the person in.
        """
        pending = await self._pending.consume_verified(binding) if binding else None
        if pending is None:
            raise SignInRefused("expired")
        return await self._start_session(pending.provider, pending.account, tenant_id, pending.next_path, browser)

    async def find_link_target(self, code: Secret, browser: Browser) -> LinkTarget:
        """Return the user that a one-time link signs in.

        Raises:
            SignInRefused: it does not count.
            LimitReached: too many wrong links from this address.
        """
        _check_limit(self._failures, browser)
        target = await self._links.peek(code)
        if target is None:
            self._failures.record_failure(browser.address)
            raise SignInRefused("link_used")
        return target

    async def use_link(self, code: Secret, next_path: str, browser: Browser) -> SignInResult:
        """Sign in by a one-time link, which is used up by it.

        Raises:
            SignInRefused: it does not count (any more).
            LimitReached: too many wrong links from this address.
        """
        _check_limit(self._failures, browser)
        used = await self._links.consume(code, browser.address, browser.user_agent)
        if used is None:
            self._failures.record_failure(browser.address)
            await self._log.record(LINK_METHOD, "link_used", "", browser)
            raise SignInRefused("link_used")
        return SignInResult(used[1], sanitize_return_to(next_path))

    async def _complete(
        self,
        provider: IdentityProvider,
        binding: Secret | None,
        query: Mapping[str, str],
        browser: Browser,
        session: Session | None,
    ) -> SignInResult | TenantSelection | LinkedAccount:
        pending, flow = await self._consume_pending(provider, binding, query, browser)
        try:
            account = await provider.finish(flow, query)
        except SignInFailed as failed:
            await self._log.record(provider.id, failed.why, "", browser)
            raise SignInRefused(failed.failure, provider.label) from None
        if pending.link_request is not None:
            return await self._link_account(provider, pending.link_request, account, pending.next_path, session)
        choices = await self._admission.list_choices(account)
        if isinstance(choices, AdmissionDenied):
            raise await self._record_denial(provider.id, account, choices, browser)
        only, *more = choices
        if more:
            await self._pending.store_verified(flow.binding, account)
            return TenantSelection(account.email, choices)
        return await self._start_session(provider.id, account, only.tenant_id, pending.next_path, browser)

    async def _consume_pending(
        self, provider: IdentityProvider, binding: Secret | None, query: Mapping[str, str], browser: Browser
    ) -> tuple[PendingSignIn, SignInFlow]:
        """The start that this is the answer to; it is used up, whatever comes of it."""
        flow = self._build_flow(provider, binding or new_secret())
        if not hmac.compare_digest(query.get("state", "").encode(), flow.state.encode()):
            await self._log.record(provider.id, "state", "", browser)
            raise SignInRefused("other_browser", provider.label)
        pending = await self._pending.consume(flow.binding, provider.id)
        if pending is None:
            await self._log.record(provider.id, "used or expired state", "", browser)
            raise SignInRefused("expired", provider.label)
        return pending, flow

    async def _link_account(
        self,
        provider: IdentityProvider,
        tying: AccountLinkRequest,
        account: VerifiedAccount,
        next_path: str,
        session: Session | None,
    ) -> LinkedAccount:
        if session is None or AccountLinkRequest(session.tenant_id, session.user_id, session.id) != tying:
            raise SignInRefused("other_browser", provider.label)
        try:
            await self._identities.link(session.actor, session.tenant_id, session.user_id, account)
        except Conflict:
            raise SignInRefused("already_tied", provider.label) from None
        return LinkedAccount(next_path)

    async def _start_session(
        self, provider_id: str, account: VerifiedAccount, tenant_id: UUID, next_path: str, browser: Browser
    ) -> SignInResult:
        entered = await self._admission.start_session(
            tenant_id, account, provider_id, browser.address, browser.user_agent
        )
        if isinstance(entered, AdmissionDenied):
            raise await self._record_denial(provider_id, account, entered, browser)
        return SignInResult(entered, sanitize_return_to(next_path))

    async def _record_denial(
        self, provider_id: str, account: VerifiedAccount, refused: AdmissionDenied, browser: Browser
    ) -> SignInRefused:
        await self._log.record(provider_id, refused.reason, account.email, browser, refused.tenant_ids)
        return SignInRefused(refused.reason, await self._get_label(provider_id), account.email)

    async def _get_provider(self, provider_id: str) -> IdentityProvider:
        provider = await self._providers.find(provider_id)
        if provider is None:
            raise NotFound("there is no such identity provider; start again at /sign-in")
        return provider

    async def _get_label(self, provider_id: str) -> str:
        return next((listed.label for listed in await self._providers.list() if listed.id == provider_id), "")

    def _build_flow(self, provider: IdentityProvider, binding: Secret) -> SignInFlow:
        return SignInFlow(provider.id, binding, f"{self._public_url}/sign-in/callback/{provider.id}")


def _check_limit(limits: AttemptLimits, browser: Browser) -> None:
    try:
        limits.check(browser.address)
    except LimitReached as reached:
        raise LimitReached("too many sign-in attempts from your address; wait a minute", reached.retry_after) from None
