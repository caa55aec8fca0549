"""Whose account it is: what a vendor says to a token or a key, by the provider's data. Harmless requests, once each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, cast
from urllib.parse import urlsplit

import orjson

from broker.providers.model import Key, Names, Provider
from broker.providers.templates import filled_url, settings_of
from broker.vendor_oauth import reasons
from broker.vendor_oauth.exchange import ErrorClass, Failed, GrantKind, RedactedExchange
from broker.vendor_oauth.fields import pointed, pointed_text
from broker.vendor_oauth.sorting import Sorted, by_status, utc_now
from broker.vendor_oauth.tokens import account_fields
from broker.vendor_oauth.wire import NoReply, Reply, Request, VendorHttp
from core.credential_headers import BEARER, Unsendable, credential_header
from core.errors import Invalid
from core.secret import Secret

MOST_SITES = 200
MOST_SITE_SCOPES = 200
LONGEST_KEY = 4_096


@dataclass(frozen=True, slots=True)
class Found:
    """The account at the vendor. `id` stays the same when its name changes."""

    id: str
    name: str
    details: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Site:
    """One of the sites that a grant covers; `scopes` are those that count there."""

    id: str
    name: str
    url: str
    scopes: tuple[str, ...]


class VendorAccounts:
    """Asks who it is. Vendor behaviour never raises; a setting of the client that is wrong does (Invalid)."""

    def __init__(self, http: VendorHttp, *, now: Callable[[], datetime] = utc_now) -> None:
        self._http = http
        self._now = now

    async def who(
        self, provider: Provider, settings: Mapping[str, str], access: Secret, extra: Mapping[str, str]
    ) -> Found | Failed | None:
        """Whose grant it is; `extra` is that of its tokens. None where the provider has no way to tell.

        Raises:
            Invalid: a setting is missing or wrong.
        """
        account = provider.account
        if account is None:
            return None
        if account.source != "url":
            return _found(extra) if extra.get("id") else _unreadable("account", "", None, 0.0)
        url = filled_url(account.url or "", settings_of(provider, settings))
        if not url:
            return None
        return await self._ask("account", url, _bearer(access, account.headers), account.id, account)

    async def sites(self, provider: Provider, settings: Mapping[str, str], access: Secret) -> tuple[Site, ...] | Failed:
        """The sites that a grant covers; none where the provider knows no sites.

        Raises:
            Invalid: a setting is missing or wrong.
        """
        if provider.sites is None:
            return ()
        url = filled_url(provider.sites.url, settings_of(provider, settings))
        found = await self._json("sites", Request("GET", url, _bearer(access, provider.sites.headers)))
        if isinstance(found, Failed):
            return found
        document, _ = found
        if not isinstance(document, list):
            return _unreadable("sites", url, 200, 0.0)
        where = provider.sites
        rows = (
            Site(
                pointed_text(one, where.id),
                pointed_text(one, where.name),
                pointed_text(one, where.site_url) if where.site_url else "",
                _texts(pointed(one, where.scopes)) if where.scopes else (),
            )
            for one in cast("list[Any]", document)[:MOST_SITES]
        )
        return tuple(site for site in rows if site.id)

    async def reaches(self, provider: Provider, settings: Mapping[str, str], access: Secret) -> bool | Failed | None:
        """Whether a grant reaches anything; None where the provider's data do not say how to tell.

        Raises:
            Invalid: a setting is missing or wrong.
        """
        where = provider.reach
        if where is None:
            return None
        url = filled_url(where.url, settings_of(provider, settings))
        found = await self._json("reach", Request("GET", url, _bearer(access, where.headers)))
        if isinstance(found, Failed):
            return found
        return pointed(found[0], where.count) not in (0, None)

    async def check_key(self, provider: Provider, settings: Mapping[str, str], secret: Secret) -> Found | Failed:
        """Whether the vendor takes a key, and whose it is; of a pair, `secret` is user name and key as they are stored.

        Raises:
            Invalid: the provider has no such request, the key has not the provider's form, so it was sent nowhere, or a
                setting is wrong.
        """
        key = provider.key
        if key is None:
            raise Invalid(f"{provider.title} has no keys; connect it by its own page")
        if key.check_url is None or key.id is None:
            raise Invalid(f"{provider.title} has no request that checks a key")
        name, value = checked_header(provider.title, key, secret)
        url = filled_url(key.check_url, settings_of(provider, settings))
        return await self._ask("key", url, {**key.check_headers, name: value}, key.id, key)

    async def _ask(
        self, kind: GrantKind, url: str, headers: Mapping[str, str], at: str, where: Names
    ) -> Found | Failed:
        found = await self._json(kind, Request("GET", url, headers))
        if isinstance(found, Failed):
            return found
        document, seconds = found
        told = account_fields(at, where, document)
        return _found(told) if told.get("id") else _unreadable(kind, url, 200, seconds)

    async def _json(self, kind: GrantKind, request: Request) -> tuple[object, float] | Failed:
        began = self._http.clock()
        reply = await self._http.ask(request)
        seconds = self._http.clock() - began
        if isinstance(reply, NoReply):
            return _failed(kind, request.url, reply.status, Sorted(reply.cls, reply.reason), seconds)
        if reply.status != 200:
            return _failed(kind, request.url, reply.status, _refusal(kind, reply, self._now()), seconds)
        try:
            return orjson.loads(reply.body), seconds
        except orjson.JSONDecodeError:
            return _unreadable(kind, request.url, 200, seconds)


def checked_header(title: str, key: Key, secret: Secret) -> tuple[str, str]:
    """The header that carries a key of the provider's form, which is checked before it is sent anywhere.

    Raises:
        Invalid: the text says what is expected.
    """
    own = secret.reveal().partition(":")[2] if key.scheme == "basic_pair" else secret.reveal()
    colon = ", without a colon" if key.scheme == "basic_user" else ""
    expected = f"a key of {title} is one word of at most {LONGEST_KEY} ASCII characters{colon}"
    if len(own) > LONGEST_KEY:
        raise Invalid(expected)
    if key.prefixes and not own.startswith(key.prefixes):
        raise Invalid(f"a key of {title} begins with {' or '.join(key.prefixes)}")
    try:
        return credential_header(key.sent, secret)
    except Unsendable:
        raise Invalid(expected) from None


def _bearer(access: Secret, headers: Mapping[str, str]) -> dict[str, str]:
    name, value = credential_header(BEARER, access)
    return {**headers, name: value}


def _found(told: Mapping[str, str]) -> Found:
    details = {name: value for name, value in told.items() if name not in ("id", "name")}
    return Found(told["id"], told.get("name", ""), MappingProxyType(details))


def _refusal(kind: GrantKind, reply: Reply, now: datetime) -> Sorted:
    """A resource refuses a token or key by its status (RFC 6750 §3.1), whatever else it says."""
    if reply.status not in (401, 403):
        return by_status(reply, now)
    word = reasons.KEY_REFUSED if kind == "key" else reasons.REVOKED if reply.status == 401 else reasons.SCOPE
    return Sorted(ErrorClass.PERMANENT, word)


def _failed(kind: GrantKind, url: str, status: int | None, found: Sorted, seconds: float) -> Failed:
    parts = urlsplit(url)
    exchange = RedactedExchange(parts.netloc, parts.path[:200], kind, seconds, status, found.cls, found.reason)
    return Failed(found.cls, found.reason, exchange, found.retry_after, status)


def _unreadable(kind: GrantKind, url: str, status: int | None, seconds: float) -> Failed:
    return _failed(kind, url, status, Sorted(ErrorClass.UNCERTAIN, reasons.UNREADABLE), seconds)


def _texts(value: object) -> tuple[str, ...]:
    many = cast("list[Any]", value)[:MOST_SITE_SCOPES] if isinstance(value, list) else []
    return tuple(one for one in many if isinstance(one, str) and len(one) <= 200)
