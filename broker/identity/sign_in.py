"""Sign-in, from the button to the session. One start is one row and one use, in the browser that it was begun in.

What is secret of it (`state`, `nonce`, the PKCE verifier) is derived from the browser's own cookie, so an answer that
another browser brings, or another sign-in's, cannot even be asked about (broker-security.md §2 rows 4, 7 and 8).
"""

import hmac
import time
from collections.abc import Callable, Mapping
from uuid import UUID

from broker.identity.admission import Admission, NotAdmitted
from broker.identity.identities import Identities
from broker.identity.next_path import safe_next
from broker.identity.one_time_links import METHOD, LinkTarget, OneTimeLinks
from broker.identity.pending import Pending, PendingSignIns, Tying
from broker.identity.providers.provider import Flow, Provider, SignInFailed, VerifiedAccount
from broker.identity.random_secrets import new_secret
from broker.identity.refusal_log import RefusalLog
from broker.identity.sessions import Session
from broker.identity.sign_in_outcomes import AccountTied, Browser, ChooseTenant, SignedIn, SignInRefused, Started
from core.db import Database
from core.errors import Conflict, LimitReached, NotFound
from core.limits import AttemptLimits
from core.secret import Secret

STARTS_PER_MINUTE, STARTS_AT_ONCE = 60, 100
FAILURES_PER_MINUTE, FAILURES_AT_ONCE = 10, 20
GUESSES = frozenset({"other_browser", "expired"})
"""Of the reasons for a refusal, those that nobody has who does what they are told."""


class SignIn:
    """The sign-in of one deployment. `ticks` gives seconds that never go back."""

    def __init__(
        self,
        database: Database,
        providers: Mapping[str, Provider],
        pending: PendingSignIns,
        admission: Admission,
        identities: Identities,
        links: OneTimeLinks,
        *,
        public_url: str,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._log = RefusalLog(database)
        self._providers = providers
        self._pending = pending
        self._admission = admission
        self._identities = identities
        self._links = links
        self._public_url = public_url
        self._starts = AttemptLimits(STARTS_PER_MINUTE, STARTS_AT_ONCE, clock=ticks)
        self._failures = AttemptLimits(FAILURES_PER_MINUTE, FAILURES_AT_ONCE, clock=ticks)

    @property
    def providers(self) -> list[tuple[str, str]]:
        """The ids and labels of the providers, in the order of the settings."""
        return [(one.id, one.label) for one in self._providers.values()]

    async def start(
        self, provider_id: str, next_path: str, browser: Browser, *, session: Session | None = None
    ) -> Started:
        """Begin a sign-in; with `session`, to tie one more account to its user.

        Raises:
            NotFound: there is no such provider.
            SignInRefused: the provider is away.
            LimitReached: too many starts from this address.
        """
        provider = self._provider(provider_id)
        _limited(self._starts, browser)
        self._starts.failed(browser.address)
        flow = self._flow(provider, new_secret())
        try:
            url = await provider.start(flow)
        except SignInFailed as failed:
            raise SignInRefused(failed.failure, provider.label) from None
        tying = Tying(session.tenant_id, session.user_id, session.id) if session else None
        await self._pending.begin(flow.binding, provider.id, safe_next(next_path), tying)
        return Started(url, flow.binding)

    async def callback(
        self,
        provider_id: str,
        binding: Secret | None,
        query: Mapping[str, str],
        browser: Browser,
        *,
        session: Session | None = None,
    ) -> SignedIn | ChooseTenant | AccountTied:
        """What the browser brought back from a provider. `session` is the one that it has now, if any.

        Raises:
            NotFound: there is no such provider.
            SignInRefused: nobody is signed in, and why.
            LimitReached: too many failures from this address.
        """
        provider = self._provider(provider_id)
        _limited(self._failures, browser)
        try:
            return await self._finished(provider, binding, query, browser, session)
        except SignInRefused as refused:
            if refused.key in GUESSES:
                self._failures.failed(browser.address)
            raise

    async def choices(self, binding: Secret | None) -> ChooseTenant:
        """What a sign-in under way has to choose from.

        Raises:
            SignInRefused: it is over, or nobody lets the person in any more.
        """
        found = await self._pending.choosing(binding) if binding else None
        if found is None:
            raise SignInRefused("expired")
        choices = await self._admission.choices(found.account)
        if isinstance(choices, NotAdmitted):
            raise SignInRefused(choices.reason, self._label(found.provider), found.account.email)
        return ChooseTenant(found.account.email, choices)

    async def choose(self, binding: Secret | None, tenant_id: UUID, browser: Browser) -> SignedIn:
        """Go on in one of several tenants; a choice counts once.

        Raises:
            SignInRefused: the sign-in is over, or the tenant does not let the person in.
        """
        found = await self._pending.chosen(binding) if binding else None
        if found is None:
            raise SignInRefused("expired")
        return await self._entered(found.provider, found.account, tenant_id, found.next, browser)

    async def peek(self, code: Secret, browser: Browser) -> LinkTarget:
        """Whom a one-time link would sign in.

        Raises:
            SignInRefused: it does not count.
            LimitReached: too many wrong links from this address.
        """
        _limited(self._failures, browser)
        target = await self._links.peek(code)
        if target is None:
            self._failures.failed(browser.address)
            raise SignInRefused("link_used")
        return target

    async def use_link(self, code: Secret, next_path: str, browser: Browser) -> SignedIn:
        """Sign in by a one-time link, which is used up by it.

        Raises:
            SignInRefused: it does not count (any more).
            LimitReached: too many wrong links from this address.
        """
        _limited(self._failures, browser)
        used = await self._links.consume(code, browser.address, browser.user_agent)
        if used is None:
            self._failures.failed(browser.address)
            await self._log.refused(METHOD, "link_used", "", browser)
            raise SignInRefused("link_used")
        return SignedIn(used[1], safe_next(next_path))

    async def _finished(
        self,
        provider: Provider,
        binding: Secret | None,
        query: Mapping[str, str],
        browser: Browser,
        session: Session | None,
    ) -> SignedIn | ChooseTenant | AccountTied:
        pending, flow = await self._taken(provider, binding, query, browser)
        try:
            account = await provider.finish(flow, query)
        except SignInFailed as failed:
            await self._log.refused(provider.id, failed.why, "", browser)
            raise SignInRefused(failed.failure, provider.label) from None
        if pending.tying is not None:
            return await self._tied(provider, pending.tying, account, pending.next, session)
        choices = await self._admission.choices(account)
        if isinstance(choices, NotAdmitted):
            raise await self._not_admitted(provider.id, account, choices, browser)
        only, *more = choices
        if more:
            await self._pending.verified(flow.binding, account)
            return ChooseTenant(account.email, choices)
        return await self._entered(provider.id, account, only.tenant_id, pending.next, browser)

    async def _taken(
        self, provider: Provider, binding: Secret | None, query: Mapping[str, str], browser: Browser
    ) -> tuple[Pending, Flow]:
        """The start that this is the answer to; it is used up, whatever comes of it."""
        flow = self._flow(provider, binding or new_secret())
        if not hmac.compare_digest(query.get("state", "").encode(), flow.state.encode()):
            await self._log.refused(provider.id, "state", "", browser)
            raise SignInRefused("other_browser", provider.label)
        pending = await self._pending.take(flow.binding, provider.id)
        if pending is None:
            await self._log.refused(provider.id, "used or expired state", "", browser)
            raise SignInRefused("expired", provider.label)
        return pending, flow

    async def _tied(
        self, provider: Provider, tying: Tying, account: VerifiedAccount, next_path: str, session: Session | None
    ) -> AccountTied:
        if session is None or Tying(session.tenant_id, session.user_id, session.id) != tying:
            raise SignInRefused("other_browser", provider.label)
        try:
            await self._identities.tie(session.actor, session.tenant_id, session.user_id, account)
        except Conflict:
            raise SignInRefused("already_tied", provider.label) from None
        return AccountTied(next_path)

    async def _entered(
        self, provider_id: str, account: VerifiedAccount, tenant_id: UUID, next_path: str, browser: Browser
    ) -> SignedIn:
        entered = await self._admission.enter(tenant_id, account, provider_id, browser.address, browser.user_agent)
        if isinstance(entered, NotAdmitted):
            raise await self._not_admitted(provider_id, account, entered, browser)
        return SignedIn(entered, safe_next(next_path))

    async def _not_admitted(
        self, provider_id: str, account: VerifiedAccount, refused: NotAdmitted, browser: Browser
    ) -> SignInRefused:
        await self._log.refused(provider_id, refused.reason, account.email, browser, refused.tenants)
        return SignInRefused(refused.reason, self._label(provider_id), account.email)

    def _provider(self, provider_id: str) -> Provider:
        try:
            return self._providers[provider_id]
        except KeyError:
            raise NotFound("there is no such identity provider; start again at /sign-in") from None

    def _label(self, provider_id: str) -> str:
        provider = self._providers.get(provider_id)
        return provider.label if provider else ""

    def _flow(self, provider: Provider, binding: Secret) -> Flow:
        return Flow(provider.id, binding, f"{self._public_url}/sign-in/callback/{provider.id}")


def _limited(limits: AttemptLimits, browser: Browser) -> None:
    try:
        limits.check(browser.address)
    except LimitReached as reached:
        raise LimitReached("too many sign-ins came from your address; wait a minute", reached.retry_after) from None
